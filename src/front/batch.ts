import { GatewayError } from '../base/errors.ts';
import { type Classified, classify } from '../protocol/json-rpc.ts';
import { takesBatches } from '../protocol/legacy-features.ts';
import type { Reply } from '../relay/relay.ts';
import { takeAnswer } from './asking.ts';
import { answerInSession, hear, type Way } from './channel.ts';
import type { FrontOptions } from './front.ts';
import { noBatches } from './inbound.ts';
import { refusal } from './refusal.ts';
import type { Standing } from './regime.ts';
import type { Session } from './sessions.ts';

/** Most messages of one batch. */
const MOST = 100;

/** A JSON-RPC batch of a session (2025-03-26: basic, Batching). */
export interface Batch {
  /** How many answers there will be: one to every request, and to every entry that is no message. */
  readonly answers: number;
  /** Serves its messages at once; `answer` gets each answer as soon as it is there. */
  serve(to: {
    readonly say: Way['say'];
    readonly answer: (reply: Reply, cancelled: boolean) => void;
  }): Promise<void>;
}

/** Throws REQUEST_INVALID where the version of the session has no batches, for an empty one, and for one too long. */
export function batchOf(
  front: FrontOptions,
  standing: Standing,
  session: Session,
  values: readonly unknown[],
): Batch {
  if (!takesBatches(session.version)) {
    throw noBatches();
  }
  if (values.length === 0 || values.length > MOST) {
    throw new GatewayError('REQUEST_INVALID', { detail: `A batch has 1 to ${MOST} messages.` });
  }
  const entries = values.map(classify);
  return {
    answers: entries.filter(({ kind }) => kind === 'request' || kind === 'invalid').length,
    serve: async ({ say, answer }) => {
      const serveOne = async (entry: Classified): Promise<void> => {
        if (entry.kind === 'response') {
          takeAnswer(session, entry.message);
        } else if (entry.kind === 'notification') {
          hear(front, entry.message, session, standing.log);
        } else if (entry.kind === 'invalid') {
          answer(refusal(invalid(entry.reason), entry.id), false);
        } else if (entry.message.method === 'initialize') {
          // 2025-03-26: basic/lifecycle, Initialization.
          answer(refusal(invalid('initialize must not be part of a batch'), entry.message.id), false);
        } else {
          const { reply, cancelled } = await answerInSession(front, standing, session, entry.message, say);
          answer(reply, cancelled);
        }
      };
      await Promise.all(entries.map(serveOne));
    },
  };
}

function invalid(reason: string): GatewayError {
  return new GatewayError('REQUEST_INVALID', { detail: `(${reason})` });
}
