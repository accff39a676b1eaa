import { hkdfSync } from 'node:crypto';
import { GatewayError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import type { Catalog, Swap } from './catalog/snapshot.ts';
import { ConfigError } from './config/problems.ts';
import type { Settings } from './config/settings.ts';
import type { MetricsDoor } from './front/front.ts';
import { Audit, type AuditedBy } from './observe/audit.ts';
import { AuditFile } from './observe/audit-file.ts';
import { Feed } from './observe/feed.ts';
import { gaugeReadings } from './observe/gauges.ts';
import { Metrics } from './observe/metrics.ts';
import type { Readiness } from './observe/status.ts';
import type { Tracing } from './observe/tracing.ts';
import { Traffic } from './observe/traffic.ts';
import { KIND_FACTS, type Kind } from './protocol/model.ts';
import type { RequestContext } from './relay/context.ts';
import type { RequestRecord } from './relay/record.ts';
import type { Reply, RequestObserver } from './relay/relay.ts';
import type { Fleet } from './upstream/fleet.ts';
import type { Vetting } from './vetting/vetting.ts';

export interface ObservingOptions {
  readonly settings: () => Settings;
  readonly sealingKey: Buffer;
  readonly release: string;
  readonly log: Log;
  /** What is looked at when the metrics are read. */
  readonly rooms: () => ObservedRooms;
  /** False: it is none of a running gateway, and nobody is to know of it. */
  readonly watches?: boolean;
}

interface ObservedRooms {
  readonly fleet: Pick<Fleet, 'statuses'>;
  readonly store: { readonly current: Catalog };
  readonly vetting: Pick<Vetting, 'findings'>;
  readonly hub: { readonly size: number };
  readonly cacheBytes: () => number;
  readonly sessions: { readonly size: number };
  readonly streams: { readonly size: number };
  readonly readiness: () => Readiness;
}

/** What happens to catalogs, told as it happens. */
export interface FlowObserver {
  /** A list is read from an upstream: for everybody, or for one user. */
  read<T>(
    about: { readonly upstream: string; readonly kind: Kind; readonly scope: 'shared' | 'private' },
    run: () => Promise<T>,
  ): Promise<T>;
  /** An upstream has told that a list changed. */
  changed(upstream: string): void;
  /** Listeners were told of what is new. */
  published(swap: Swap): void;
  /** A resource was looked for among what is kept. */
  looked(result: 'shared' | 'private' | 'miss'): void;
}

/** A notice that nothing came of is forgotten after this time, in ms. */
const NOTICE_MS = 60_000;

/**
 * Metrics, audit and traces: what each is told of a request, and of catalogs. With none of them wanted there is no
 * observer, and nothing is noted anywhere.
 */
export class Observing implements FlowObserver {
  readonly #options: ObservingOptions;
  readonly #metrics: Metrics | undefined;
  readonly #traffic = new Traffic();
  /** What operators are told who look on. */
  readonly feed: Feed;
  readonly #file: AuditFile | undefined;
  readonly #audit: Audit | undefined;
  #tracing: Tracing | undefined;
  /** When each upstream told of a change that listeners do not know of yet, as `performance.now()` tells it. */
  readonly #noticed = new Map<string, number>();

  /** Throws a ConfigError where the audit log cannot be written. */
  constructor(options: ObservingOptions) {
    this.#options = options;
    const { settings, watches: wanted = true, release, rooms, log } = options;
    const { metrics } = settings();
    this.feed = new Feed({ readiness: () => rooms().readiness(), statuses: () => rooms().fleet.statuses() });
    if (wanted && metrics.enabled) {
      const sources = () => ({
        ...sourcesOf(rooms()),
        traffic: this.#traffic,
        audit: this.#file?.counts,
        traces: this.#tracing?.counts,
      });
      this.#metrics = new Metrics({
        release,
        tools: metrics.tools,
        upstreams: () => rooms().fleet.statuses().keys(),
        gauges: gaugeReadings(sources),
      });
    }
    const { file } = settings().audit;
    if (wanted && file !== undefined) {
      this.#file = openAudit(file, { ...options, begins: () => this.#audit?.begins() });
      const write = (line: string) => this.#file?.write(line);
      const key = Buffer.from(hkdfSync('sha256', options.sealingKey, '', 'patchbay audit', 32));
      this.#audit = new Audit({ settings: () => settings().audit, key, write });
      log.info({ file }, 'requests are written to the audit log');
    }
  }

  /** Undefined where nobody wants to know anything. */
  get observer(): RequestObserver | undefined {
    const { tracing, ui } = this.#options.settings();
    const looked = this.#options.watches !== false && (tracing.enabled || ui.enabled);
    return this.#metrics || this.#audit || looked ? this.#observer : undefined;
  }

  get door(): MetricsDoor | undefined {
    const metrics = this.#metrics;
    return (
      metrics && {
        text: () => metrics.text(),
        refused: (code) => metrics.refused(code),
        traffic: this.#traffic,
      }
    );
  }

  /** Loads what traces need, where they are wanted. Never rejects. */
  async start(): Promise<void> {
    const { settings, watches: wanted = true, release, log } = this.#options;
    const { tracing, name } = settings();
    if (!wanted || !tracing.enabled || this.#tracing !== undefined) {
      return;
    }
    try {
      const { Tracing } = await import('./observe/tracing.ts');
      this.#tracing ??= new Tracing({ settings: tracing, name, release, log });
    } catch (thrown) {
      log.error({ err: thrown }, 'there are no traces: what they need cannot be loaded');
    }
  }

  /** The audit log may have been moved away. */
  reopen(): void {
    this.#file?.reopen();
  }

  /** Writes and sends what is left, within a few seconds. */
  async close(): Promise<void> {
    this.#metrics?.close();
    await Promise.all([this.#tracing?.close(), this.#file?.close()]);
  }

  readonly #observer: RequestObserver = {
    begin: (message, context) => {
      this.#metrics?.began();
      const begun = performance.now();
      const { session, codec, carrier } = context;
      const { method, id, params } = message;
      const trace = this.#tracing?.request({
        ...{ method, id, params, carrier },
        version: codec.version,
        session: session?.sid,
      });
      return trace === undefined ? { begun } : { begun, trace };
    },
    admit: () => {
      if (this.#file?.failing === true && this.#options.settings().audit.onFailure === 'refuse') {
        throw new GatewayError('AUDIT_FAILED');
      }
    },
    end: (record, message, context, reply) => {
      const tookMs = performance.now() - record.begun;
      this.#count(message.method, record, tookMs, reply);
      record.trace?.end(record);
      if (this.#audit === undefined && !this.feed.heard) {
        return;
      }
      const by = auditedBy(context);
      const { method, params } = message;
      const call = { ...record, method, params, tookMs, trace: record.trace?.id };
      this.feed.called(call, by);
      if (record.offered === undefined) {
        this.#audit?.called(call, by);
      } else {
        this.#audit?.listed(record.offered, by, tookMs);
      }
    },
  };

  #count(method: string, record: RequestRecord, tookMs: number, reply: Reply): void {
    const metrics = this.#metrics;
    if (metrics === undefined) {
      return;
    }
    metrics.ended(method, record, tookMs, reply.parts?.byteLength ?? Buffer.byteLength(reply.json));
    if (reply.refused !== undefined) {
      metrics.refused(reply.refused.code);
    }
    if (record.offered !== undefined) {
      const shared = record.offered.revision === this.#options.rooms().store.current.revision;
      metrics.looked('lists', shared ? 'shared' : 'private');
    }
  }

  async read<T>(
    about: { readonly upstream: string; readonly kind: Kind; readonly scope: 'shared' | 'private' },
    run: () => Promise<T>,
  ): Promise<T> {
    const { upstream, kind, scope } = about;
    const method = KIND_FACTS[kind].list;
    const begun = performance.now();
    if (scope === 'private') {
      this.#metrics?.looked('lists', 'miss');
    }
    try {
      const result = await (this.#tracing?.read({ upstream, method, scope }, run) ?? run());
      this.#metrics?.read(upstream, scope, 'ok', performance.now() - begun);
      return result;
    } catch (thrown) {
      this.#metrics?.read(upstream, scope, 'failed', performance.now() - begun);
      throw thrown;
    }
  }

  changed(upstream: string): void {
    this.#noticed.set(upstream, performance.now());
  }

  published({ before, after, changes, owner }: Swap): void {
    if (owner !== undefined) {
      return;
    }
    this.#metrics?.replaced();
    this.feed.swapped({ before, after, changes });
    const now = performance.now();
    for (const [upstream, at] of this.#noticed) {
      const told = before.parts.get(upstream) !== after.parts.get(upstream);
      if (told) {
        this.#metrics?.notified(now - at);
      }
      if (told || now - at > NOTICE_MS) {
        this.#noticed.delete(upstream);
      }
    }
  }

  looked(result: 'shared' | 'private' | 'miss'): void {
    this.#metrics?.looked('resources', result);
  }
}

function sourcesOf({ fleet, store, vetting, hub, cacheBytes, sessions, streams, readiness }: ObservedRooms) {
  return {
    readiness: readiness(),
    statuses: fleet.statuses(),
    findings: [...store.current.findings, ...vetting.findings(store.current.parts)],
    sessions: sessions.size,
    streams: streams.size,
    listeners: hub.size,
    cacheBytes: cacheBytes(),
  };
}

function auditedBy({ principal, entrance, session, client }: RequestContext): AuditedBy {
  const { key, id, issuer } = principal;
  return { key, id, issuer, entrance: entrance.id, session: session?.sid, client: client.info };
}

function openAudit(
  file: string,
  { settings, log, begins }: Pick<ObservingOptions, 'settings' | 'log'> & { readonly begins: () => void },
): AuditFile {
  const now = () => settings().audit;
  const { bufferBytes } = now();
  try {
    return new AuditFile({
      ...{ file, bufferBytes, begins, log },
      rotateBytes: () => now().rotateBytes,
      keep: () => now().keep,
    });
  } catch (thrown) {
    throw unwritable(file, thrown);
  }
}

function unwritable(file: string, cause: unknown): ConfigError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  const message = `the audit log cannot be written (${code})`;
  return new ConfigError([{ path: 'audit.file', line: 0, column: 0, message }], file, cause);
}
