import { ERRORS, type ErrorCode } from '../base/error-table.ts';
import { codecFor } from '../protocol/codec.ts';
import { LATEST_LEGACY, LATEST_MODERN } from '../protocol/versions.ts';
import type { Readings } from './exposition.ts';
import { METRICS } from './metric-table.ts';
import { ProcessReadings } from './process-readings.ts';
import { Counts, Tally } from './tally.ts';

/** What became of one request, as far as it is counted. */
export interface SeenRequest {
  /** An id of the configuration. */
  readonly upstream?: string;
  /** What it was about, as the upstream knows it: some catalog has it. */
  readonly original?: string;
  readonly outcome?: string;
  readonly code?: ErrorCode;
  readonly flags?: readonly string[];
  /** ms. */
  readonly queuedMs?: number;
  readonly upstreamMs?: number;
}

export interface MetricsOptions {
  readonly release: string;
  /** Most tools that are counted by name. */
  readonly tools: number;
  /** Ids of the upstreams that there are now: what was counted of others is dropped when it is read. */
  readonly upstreams: () => Iterable<string>;
  /** What is not counted but looked at when it is asked for. */
  readonly gauges: Readings;
}

interface MethodCell {
  readonly outcomes: Counts<string>;
  readonly took: Tally;
}

interface UpstreamCell {
  readonly methods: Map<string, MethodCell>;
  readonly errors: Counts<string>;
  readonly calls: Tally;
  readonly queued: Tally;
  readonly reads: Counts<string>;
  readonly readTook: Tally;
  bytes: number;
}

interface ToolCell {
  readonly upstream: string;
  readonly tool: string;
  readonly outcomes: Counts<string>;
}

const METHODS: ReadonlySet<string> = new Set([
  ...codecFor(LATEST_MODERN).methods,
  ...codecFor(LATEST_LEGACY).methods,
]);
const OTHER = 'other';
/**
 * Told from the start, as 0: Prometheus sees no increase where a counter comes into being with its first event, and these
 * are what alerts ask for.
 */
const AWAITED_ERRORS = ['INTERNAL', 'UPSTREAM_BUSY'] as const satisfies readonly ErrorCode[];
const AWAITED_REFUSALS = ['STREAMS_FULL', 'BODIES_FULL'] as const satisfies readonly ErrorCode[];
const BOUNDS = METRICS.patchbay_request_duration_seconds.bounds;

/**
 * Counts. What happens with every request is a look-up of a cell and a few additions; texts are made when somebody reads
 * them. See metric-table.ts for what the labels may be.
 */
export class Metrics {
  readonly #options: MetricsOptions;
  /** Made when it is first asked for: what it needs takes a while to load, and a start is not to wait for it. */
  #registry: Promise<{ metrics(): Promise<string> }> | undefined;
  readonly #process = new ProcessReadings();
  readonly #cells = new Map<string, UpstreamCell>();
  readonly #tools = new Map<string, ToolCell>();
  readonly #flags = new Counts<string>();
  readonly #refusals = new Counts<ErrorCode>();
  readonly #looks = new Counts<string>();
  readonly #notified = new Tally(BOUNDS);
  #underWay = 0;
  #revisions = 0;

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  /** A request came in; {@link ended} follows. */
  began(): void {
    this.#underWay += 1;
  }

  /** `tookMs`: from its coming in until its answer, of so many bytes. */
  ended(asked: string, seen: SeenRequest, tookMs: number, bytes: number): void {
    const { outcome = 'ok', code, flags, queuedMs, upstreamMs, upstream = '' } = seen;
    this.#underWay -= 1;
    const cell = this.#cellOf(upstream);
    const method = METHODS.has(asked) ? asked : OTHER;
    let ofMethod = cell.methods.get(method);
    if (ofMethod === undefined) {
      ofMethod = { outcomes: new Counts(), took: new Tally(BOUNDS) };
      cell.methods.set(method, ofMethod);
    }
    ofMethod.outcomes.add(outcome);
    ofMethod.took.observe(tookMs / 1000);
    cell.bytes += bytes;
    if (code !== undefined) {
      cell.errors.add(code);
    }
    if (queuedMs !== undefined) {
      cell.queued.observe(queuedMs / 1000);
    }
    if (upstreamMs !== undefined) {
      cell.calls.observe(upstreamMs / 1000);
    }
    if (flags !== undefined) {
      for (const flag of flags) {
        this.#flags.add(flag);
      }
    }
    if (this.#options.tools > 0 && method === 'tools/call' && seen.original !== undefined) {
      this.#toolCellOf(upstream, seen.original).outcomes.add(outcome);
    }
  }

  /** An HTTP request was refused as a whole. */
  refused(code: ErrorCode): void {
    this.#refusals.add(code);
  }

  /** A list was read from an upstream, for everybody or for one user. */
  read(upstream: string, scope: 'shared' | 'private', outcome: 'ok' | 'failed', tookMs: number): void {
    const { reads, readTook } = this.#cellOf(upstream);
    reads.add(`${scope} ${outcome}`);
    readTook.observe(tookMs / 1000);
  }

  /** Something was looked for among what is kept. */
  looked(cache: 'resources' | 'lists', result: 'shared' | 'private' | 'miss'): void {
    this.#looks.add(`${cache} ${result}`);
  }

  /** The catalog of everybody was replaced. */
  replaced(): void {
    this.#revisions += 1;
  }

  /** Listeners were told of a change so many ms after the upstream had told of it. */
  notified(tookMs: number): void {
    this.#notified.observe(tookMs / 1000);
  }

  /** Everything in the text format of Prometheus. */
  async text(): Promise<string> {
    this.#registry ??= this.#load();
    const registry = await this.#registry;
    const known = new Set(['', ...this.#options.upstreams()]);
    for (const upstream of this.#cells.keys()) {
      if (!known.has(upstream)) {
        this.#cells.delete(upstream);
      }
    }
    for (const upstream of known) {
      for (const code of AWAITED_ERRORS) {
        this.#cellOf(upstream).errors.add(code, 0);
      }
    }
    for (const code of AWAITED_REFUSALS) {
      this.#refusals.add(code, 0);
    }
    return registry.metrics();
  }

  async #load() {
    const { createRegistry } = await import('./exposition.ts');
    return createRegistry({ ...this.#readings(), ...this.#process.readings, ...this.#options.gauges });
  }

  close(): void {
    this.#process.close();
  }

  #cellOf(upstream: string): UpstreamCell {
    let cell = this.#cells.get(upstream);
    if (cell === undefined) {
      cell = {
        methods: new Map(),
        errors: new Counts(),
        calls: new Tally(BOUNDS),
        queued: new Tally(BOUNDS),
        reads: new Counts(),
        readTook: new Tally(BOUNDS),
        bytes: 0,
      };
      this.#cells.set(upstream, cell);
    }
    return cell;
  }

  #toolCellOf(upstream: string, tool: string): ToolCell {
    // No id of an upstream has a space in it.
    const key = `${upstream} ${tool}`;
    const known = this.#tools.get(key);
    if (known !== undefined) {
      return known;
    }
    if (this.#tools.size >= this.#options.tools) {
      const rest = this.#tools.get(OTHER) ?? { upstream: '', tool: OTHER, outcomes: new Counts() };
      this.#tools.set(OTHER, rest);
      return rest;
    }
    const cell = { upstream, tool, outcomes: new Counts<string>() };
    this.#tools.set(key, cell);
    return cell;
  }

  #readings(): Readings {
    const cells = this.#cells;
    const perUpstream = (tallyOf: (cell: UpstreamCell) => Tally) => () =>
      [...cells]
        .map(([upstream, cell]) => [tallyOf(cell), upstream] as const)
        .filter(([tally]) => tally.count > 0);
    const perMethod = <T>(of: (cell: MethodCell, upstream: string, method: string) => readonly T[]) =>
      [...cells].flatMap(([upstream, { methods }]) =>
        [...methods].flatMap(([method, cell]) => of(cell, upstream, method)),
      );
    return {
      patchbay_requests_total: () =>
        perMethod(({ outcomes }, upstream, method) =>
          [...outcomes].map(([outcome, count]) => [count, upstream, method, outcome] as const),
        ),
      patchbay_request_duration_seconds: () =>
        perMethod(({ took }, upstream, method) => [[took, upstream, method] as const]),
      patchbay_requests_in_flight: () => [[this.#underWay]],
      patchbay_request_errors_total: () =>
        [...cells].flatMap(([upstream, { errors }]) =>
          [...errors].map(([code, count]) => [count, upstream, code] as const),
        ),
      patchbay_request_flags_total: () => [...this.#flags].map(([flag, count]) => [count, flag] as const),
      patchbay_response_bytes_total: () =>
        [...cells].map(([upstream, { bytes }]) => [bytes, upstream] as const),
      patchbay_tool_calls_total: () =>
        [...this.#tools.values()].flatMap(({ upstream, tool, outcomes }) =>
          [...outcomes].map(([outcome, count]) => [count, upstream, tool, outcome] as const),
        ),
      patchbay_upstream_call_duration_seconds: perUpstream(({ calls }) => calls),
      patchbay_upstream_queue_seconds: perUpstream(({ queued }) => queued),
      patchbay_http_refusals_total: () =>
        [...this.#refusals].map(([code, count]) => [count, String(ERRORS[code].http), code] as const),
      patchbay_catalog_revisions_total: () => [[this.#revisions]],
      patchbay_catalog_reads_total: () =>
        [...cells].flatMap(([upstream, { reads }]) =>
          [...reads].map(([key, count]) => [count, upstream, ...key.split(' ')] as const),
        ),
      patchbay_catalog_read_duration_seconds: perUpstream(({ readTook }) => readTook),
      patchbay_change_notification_seconds: () => [[this.#notified]],
      patchbay_cache_lookups_total: () =>
        [...this.#looks].map(([key, count]) => [count, ...key.split(' ')] as const),
      patchbay_build_info: () => [[1, this.#options.release]],
    };
  }
}
