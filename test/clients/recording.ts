import { readdirSync, readFileSync } from 'node:fs';
import { isObject, type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { META, metaOf } from '../../src/protocol/meta.ts';
import type { Era } from '../../src/protocol/model.ts';

/** What the gateway owes for one request; derived by `compact.mjs`, judged by `judge.ts`. */
export type Expectation =
  | 'discovered'
  | 'opened'
  | 'listening'
  | 'listed'
  | 'called'
  | 'read'
  | 'prompted'
  | 'levelled'
  | 'pinged'
  | 'accepted'
  | 'streaming'
  | 'refused'
  | 'ended'
  | 'gone'
  | 'homeless'
  | 'absent';

/** One HTTP request as the client sent it; names of headers in its own spelling. */
export interface Send {
  readonly kind: 'send';
  /** Counts the requests of one variant from 1. */
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | undefined;
  /** Which of its sessions it speaks in, and which one the answer opens, counted from 1. */
  readonly session: number | undefined;
  readonly opens: number | undefined;
  /** It was sent without waiting for what went before. */
  readonly together: boolean;
  readonly expects: Expectation;
}

export type Step =
  | Send
  /** The client closes the stream of that request. */
  | { readonly kind: 'close'; readonly n: number }
  /** The server gains a tool and says so. */
  | { readonly kind: 'grow' }
  | { readonly kind: 'restart' };

export interface Recording {
  readonly client: string;
  readonly version: string;
  /** By variant: its steps, or the name of the variant in which the client sent the very same. */
  readonly variants: ReadonlyMap<string, readonly Step[] | string>;
}

interface Written {
  readonly client: string;
  readonly version: string;
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly metas: readonly JsonObject[];
  readonly variants: Readonly<Record<string, string | readonly JsonObject[]>>;
}

const FOLDER = new URL('recorded/', import.meta.url);

/** Every recorded client, by name. */
export function recordings(): readonly Recording[] {
  return readdirSync(FOLDER)
    .toSorted()
    .map((name) => expanded(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Written));
}

/** One row of a test table: what one client sent in one variant. */
export interface Played {
  readonly client: string;
  readonly variant: string;
  readonly steps: readonly Step[];
}

/** Every variant that is no copy of another and that `wanted` takes. */
export function played(wanted: (steps: readonly Step[], variant: string) => boolean): readonly Played[] {
  return recordings().flatMap(({ client, version, variants }) =>
    [...variants].flatMap(([variant, steps]) =>
      typeof steps !== 'string' && wanted(steps, variant)
        ? [{ client: `${client} ${version}`, variant, steps }]
        : [],
    ),
  );
}

/**
 * Every other row for servers of one era, the rest for the other: for what the gateway does by itself, whatever is behind
 * it. `replay.test.ts` has each client in front of both.
 */
export function inFrontOf(era: Era, rows: readonly Played[]): readonly Played[] {
  return rows.filter((_, at) => (at % 2 === 0) === (era === 'modern'));
}

/** The steps of a variant, a copy resolved; undefined where it was not recorded. */
export function stepsOf(recording: Recording, variant: string): readonly Step[] | undefined {
  const steps = recording.variants.get(variant);
  return typeof steps === 'string' ? stepsOf(recording, steps) : steps;
}

export const sends = (steps: readonly Step[]): readonly Send[] =>
  steps.filter((step) => step.kind === 'send');

const BY_UPSTREAMS: readonly Expectation[] = ['listed', 'called', 'read', 'prompted'];

/** True for what only the servers behind the gateway can answer. */
export function needsUpstream(step: Step): boolean {
  return step.kind === 'send' && BY_UPSTREAMS.includes(step.expects);
}

export const asksForPages = (steps: readonly Step[]): boolean =>
  sends(steps).some(({ body }) => objectAt(body, 'params')?.['cursor'] !== undefined);

export const restarts = (steps: readonly Step[]): boolean => steps.some(({ kind }) => kind === 'restart');

/** The modern version that a request claims in its `_meta`; undefined for every legacy one. */
export function modernVersion(send: Send): string | undefined {
  return stringAt(metaOf(objectAt(send.body, 'params')), META.version);
}

function expanded(written: Written): Recording {
  const variants = Object.entries(written.variants).map(([name, steps]) => {
    let n = 0;
    const count = () => {
      n += 1;
      return n;
    };
    return [
      name,
      typeof steps === 'string' ? steps : steps.map((step) => stepFrom(step, written, count)),
    ] as const;
  });
  return { client: written.client, version: written.version, variants: new Map(variants) };
}

function stepFrom(step: JsonObject, written: Written, count: () => number): Step {
  if ('restart' in step || 'grow' in step) {
    return { kind: 'restart' in step ? 'restart' : 'grow' };
  }
  if ('close' in step) {
    return { kind: 'close', n: Number(step['close']) };
  }
  const [method = '', path = ''] = String(step['send']).split(' ');
  const body = bodyFrom(step, written);
  return {
    kind: 'send',
    n: count(),
    method,
    path,
    headers: headersFrom(written.headers[Number(step['headers'])] ?? {}, body),
    body,
    session: numberAt(step, 'session'),
    opens: numberAt(step, 'opens'),
    together: step['together'] === true,
    expects: step['expects'] as Expectation,
  };
}

function numberAt(step: JsonObject, key: string): number | undefined {
  const value = step[key];
  return typeof value === 'number' ? value : undefined;
}

function bodyFrom(step: JsonObject, written: Written): JsonObject | undefined {
  const body = step['body'];
  if (!isObject(body)) {
    return undefined;
  }
  const shared = written.metas[numberAt(step, 'meta') ?? -1];
  if (String(step['send']).endsWith(' /register')) {
    return body;
  }
  const params = objectAt(body, 'params');
  const meta = shared === undefined ? {} : { params: { ...params, _meta: { ...shared, ...metaOf(params) } } };
  return { jsonrpc: '2.0', ...body, ...meta };
}

/** Placeholders of headers that repeat the body; that of the session stays for the player. */
function headersFrom(
  headers: Readonly<Record<string, string>>,
  body: JsonObject | undefined,
): Readonly<Record<string, string>> {
  const params = objectAt(body, 'params');
  const values: Readonly<Record<string, string | undefined>> = {
    '<method>': stringAt(body, 'method'),
    '<name>': stringAt(params, 'name') ?? stringAt(params, 'uri'),
  };
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, values[text] ?? text]));
}
