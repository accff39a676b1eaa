import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { pause } from '../base/time.ts';
import type { RpcId } from '../protocol/json-rpc.ts';
import { announced, describeAnswer, judgeRefusal } from './http-answer.ts';
import { decodedBody, drain, readAnswer, readStart } from './http-body.ts';
import type { Answer } from './http-exchange.ts';
import type { Inbox } from './inbox.ts';
import { readEvents, type StreamPosition } from './sse-reader.ts';

/** What is needed to read the answer to one request. */
export interface ReplyContext {
  readonly upstream: string;
  readonly maxMessageBytes: number;
  readonly id: RpcId;
  readonly inbox: Inbox;
  readonly signal: EndSignal;
  readonly sentSession: boolean;
  /** Takes a broken stream up again after this event (GET with Last-Event-ID), where the era allows it. */
  readonly resume: ((lastEventId: string) => Promise<Answer>) | undefined;
}

/** A refusal is judged by this much of its body. */
const REFUSAL_BYTES = 1_048_576;
const EXCERPT_BYTES = 1_024;
/** Without a `retry` of the server. */
const RESUME_MS = 1_000;
/** Even where the server asks for less: it may end each stream after one event. */
const SHORTEST_RESUME_MS = 50;
/** Tries in a row that brought no event. */
const MOST_RESUMES = 2;

/**
 * Brings the answer to a request into the inbox, whichever form it has. Rejects with the GatewayError that the request
 * failed with; when it resolves, the request has its answer.
 */
export function readReply(answer: Answer, context: ReplyContext): Promise<void> {
  const { upstream } = context;
  switch (announced(answer.status, answer.headers)) {
    case 'events':
      return followEvents(answer, context);
    case 'json':
      return readJson(answer, context);
    case 'refusal':
      return readRefusal(answer, context);
    case 'nothing':
      drain(answer.body);
      return Promise.reject(
        new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged: `a request got ${answer.status}` }),
      );
    case 'foreign':
      return foreign(answer, upstream).then((error) => Promise.reject(error));
  }
}

function readJson(answer: Answer, context: ReplyContext): Promise<void> {
  const { upstream, maxMessageBytes, id, inbox } = context;
  return readAnswer(answer, maxMessageBytes, upstream).then((bytes) => {
    inbox.receive(bytes, id);
    if (inbox.waitsFor(id)) {
      const logged = describeAnswer(answer.status, answer.headers, bytes.toString('utf8', 0, EXCERPT_BYTES));
      throw new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged });
    }
  });
}

async function readRefusal(answer: Answer, context: ReplyContext): Promise<void> {
  const { upstream, id, inbox, sentSession } = context;
  const { status, headers } = answer;
  const body = await readStart(decodedBody(answer, upstream), REFUSAL_BYTES);
  const judged = judgeRefusal({ upstream, status, headers, body, id, sentSession });
  if (judged instanceof GatewayError) {
    throw judged;
  }
  inbox.receive(JSON.stringify(judged), id);
}

/** Something else than MCP, whatever its status: told at once, with the start of it in the log alone (C-044). */
export async function foreign(answer: Answer, upstream: string): Promise<GatewayError> {
  const body = await readStart(decodedBody(answer, upstream), EXCERPT_BYTES);
  return new GatewayError('UPSTREAM_NOT_MCP', {
    upstream,
    logged: describeAnswer(answer.status, answer.headers, body),
  });
}

/**
 * Reads the stream of one request until its response came. A legacy server may end the connection before that and mean
 * to go on: with an event id at hand the stream is taken up again, after the wait the server asked for (2025-11-25
 * transports, Sending Messages, 6). Without one the request is lost.
 */
async function followEvents(first: Answer, context: ReplyContext): Promise<void> {
  const { inbox, id } = context;
  const position: StreamPosition = {};
  let answer: Answer | undefined = first;
  let fruitless = 0;
  while (answer !== undefined) {
    const outcome = await readStretch(answer, position, context);
    if (!inbox.waitsFor(id)) {
      return;
    }
    fruitless = outcome.heard ? 0 : fruitless + 1;
    answer = undefined;
    while (answer === undefined && fruitless < MOST_RESUMES) {
      answer = await takeUp(position, context, outcome.error);
      fruitless += answer === undefined ? 1 : 0;
    }
    if (answer === undefined) {
      throw outcome.error;
    }
  }
}

interface Stretch {
  readonly heard: boolean;
  /** Why the request is lost if the stream is not taken up again. */
  readonly error: GatewayError;
}

/** One connection's worth of the stream. Throws what taking it up again would not cure. */
async function readStretch(
  answer: Answer,
  position: StreamPosition,
  context: ReplyContext,
): Promise<Stretch> {
  const { upstream, maxMessageBytes, id, inbox } = context;
  let heard = false;
  let unreadable = false;
  const startedAt = position.lastEventId;
  let error: GatewayError | undefined;
  try {
    await readEvents(decodedBody(answer, upstream), {
      upstream,
      maxEventBytes: maxMessageBytes,
      position,
      event({ type, data }) {
        heard = true;
        if (type === 'endpoint') {
          // Some servers of the 2024-11-05 transport answer a POST with their event stream (C-048).
          throw new GatewayError('UPSTREAM_NOT_MCP', { upstream, data: { endpointEvent: true } });
        }
        if (type === 'message' && data !== '') {
          unreadable = !inbox.receive(data, id) || unreadable;
        }
        return !inbox.waitsFor(id);
      },
    });
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== 'UPSTREAM_LOST') {
      throw thrown;
    }
    error = thrown;
  }
  return {
    heard: heard || position.lastEventId !== startedAt,
    error:
      error ??
      new GatewayError(unreadable ? 'UPSTREAM_NOT_MCP' : 'UPSTREAM_LOST', {
        upstream,
        logged: 'its event stream ended without the response',
      }),
  };
}

/** Undefined when this try failed and another may not; throws `lost` when there is no way back. */
async function takeUp(
  position: StreamPosition,
  context: ReplyContext,
  lost: GatewayError,
): Promise<Answer | undefined> {
  const { lastEventId, retryMs = RESUME_MS } = position;
  const { resume, signal } = context;
  if (resume === undefined || lastEventId === undefined || signal.aborted) {
    throw lost;
  }
  await pause(Math.max(retryMs, SHORTEST_RESUME_MS), signal);
  let answer: Answer;
  try {
    answer = await resume(lastEventId);
  } catch (thrown) {
    if (signal.aborted) {
      throw thrown;
    }
    return undefined;
  }
  if (announced(answer.status, answer.headers) === 'events') {
    return answer;
  }
  drain(answer.body);
  if (answer.status >= 500 || answer.status === 429) {
    return undefined;
  }
  throw lost;
}
