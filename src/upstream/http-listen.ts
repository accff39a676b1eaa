import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { backoff, pause } from '../base/time.ts';
import { headerOf } from '../protocol/headers.ts';
import { announced, retryAfter } from './http-answer.ts';
import { decodedBody, drain } from './http-body.ts';
import type { Answer } from './http-exchange.ts';
import { readEvents, type StreamPosition } from './sse-reader.ts';

export interface Listening {
  readonly upstream: string;
  readonly maxMessageBytes: number;
  readonly restart: { readonly base: number; readonly cap: number };
  readonly signal: AbortSignal;
  readonly log: Log;
  /** The GET, with Last-Event-ID where one is known. */
  readonly open: (lastEventId: string | undefined) => Promise<Answer>;
  readonly receive: (text: string) => void;
  /** See {@link Transport.listen}. */
  readonly missed: () => void;
  /** A session that had its stream is not known any more (2025-11-25 transports, Session Management; C-026). */
  readonly gone: () => void;
}

type Outcome =
  /** This server has no such stream, or none for us: not asked again in this session. */
  | { readonly kind: 'refused'; readonly status: number }
  /** 404: a server that is being deployed says so too, so once more is worth it. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'ended'; readonly opened: boolean; readonly heard: boolean; readonly waitMs?: number };

const BROKEN: Outcome = { kind: 'ended', opened: false, heard: false };

/** 404 ends a session; some servers say 400 (2025-11-25 transports, Session Management; C-039). */
function endsSession(outcome: Outcome): boolean {
  return outcome.kind === 'missing' || (outcome.kind === 'refused' && outcome.status === 400);
}

/** Even where the server asks for less: it may ask for 0 and end each stream at once. */
const SHORTEST_WAIT_MS = 100;
/** Even where it asks for more: without the stream nothing is heard of changes. */
const LONGEST_WAIT_MS = 300_000;

/**
 * Keeps the standalone GET stream of a legacy session open until `signal` aborts (2025-11-25 transports, Listening for
 * Messages). Never rejects: the stream is optional, and refusals of all sorts are ordinary (C-042). What breaks is
 * opened again with back-off, or after the wait that the server asked for.
 */
export async function keepListening(listening: Listening): Promise<void> {
  const { signal, log, restart } = listening;
  const position: StreamPosition = {};
  let failures = 0;
  let missing = 0;
  let opened = false;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    const found = await listenOnce(listening, position);
    if (signal.aborted) {
      return;
    }
    if (opened && endsSession(found)) {
      listening.gone();
      return;
    }
    // A stream that was there may be there again: some servers refuse a second one until they notice that the first is gone.
    const outcome: Outcome = opened && found.kind === 'refused' ? BROKEN : found;
    opened ||= outcome.kind === 'ended' && outcome.opened;
    if (attempt === 0 && !(outcome.kind === 'ended' && outcome.opened)) {
      listening.missed(); // there is no stream to wait for, at least for now
    }
    if (outcome.kind === 'refused' || (outcome.kind === 'missing' && missing > 0)) {
      log.debug({ outcome }, 'the server offers no stream of notices');
      return;
    }
    if (outcome.kind === 'missing') {
      missing += 1;
      await pause(restart.cap, signal);
      continue;
    }
    failures = outcome.heard ? 0 : failures + 1;
    missing = outcome.heard ? 0 : missing;
    const asked = outcome.waitMs ?? (outcome.heard ? position.retryMs : undefined);
    const own = backoff(failures, restart.base, restart.cap);
    const wait = asked === undefined ? own : Math.min(Math.max(asked, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    await pause(wait, signal);
  }
}

async function listenOnce(listening: Listening, position: StreamPosition): Promise<Outcome> {
  const { upstream, maxMessageBytes, log, signal } = listening;
  const startedAt = position.lastEventId;
  let opened = false;
  let heard = false;
  try {
    const answer = await listening.open(position.lastEventId);
    if (announced(answer.status, answer.headers) !== 'events') {
      drain(answer.body);
      return judgeRefused(answer);
    }
    opened = true;
    listening.missed();
    await readEvents(decodedBody(answer, upstream), {
      upstream,
      maxEventBytes: maxMessageBytes,
      position,
      event({ type, data }) {
        heard = true;
        if (type === 'message' && data !== '') {
          listening.receive(data);
        }
        return false;
      },
    });
  } catch (thrown) {
    if (!signal.aborted) {
      log.debug({ err: thrown }, 'the stream of notices broke');
    }
    if (thrown instanceof GatewayError && REFUSALS.has(thrown.code)) {
      return { kind: 'refused', status: 0 };
    }
  }
  return { kind: 'ended', opened, heard: heard || position.lastEventId !== startedAt };
}

/** What the same request would only run into again. */
const REFUSALS: ReadonlySet<string> = new Set([
  'UPSTREAM_AUTH',
  'UPSTREAM_NOT_MCP',
  'UPSTREAM_REDIRECT',
  'INTERNAL',
]);

function judgeRefused(answer: Answer): Outcome {
  const { status, headers } = answer;
  if (status === 404) {
    return { kind: 'missing' };
  }
  if (status === 429 || status >= 500) {
    const waitMs = retryAfter(headerOf(headers, 'retry-after'), Date.now());
    return { kind: 'ended', opened: false, heard: false, ...(waitMs === undefined ? {} : { waitMs }) };
  }
  return { kind: 'refused', status };
}
