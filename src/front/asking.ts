import { GatewayError, RpcRefusal } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import { notification, type RpcResponse, request } from '../protocol/json-rpc.ts';
import type { SessionFace } from '../relay/context.ts';
import type { Session } from './sessions.ts';

type Question = Parameters<SessionFace['ask']>[0];

/**
 * Sends a question of a server to the client of a legacy session and waits for the message that answers it. `send`
 * writes to a stream of the session and says whether it can be heard. Rejects with the client's own error (RpcRefusal),
 * or with CANCELLED when there is no stream, no answer within `ttlMs`, the session ends, or the server takes the
 * question back.
 */
export function askClient(
  session: Session,
  question: Question,
  send: (json: string) => boolean,
  ttlMs: number,
): Promise<JsonObject> {
  const { live } = session;
  live.lastQuestion += 1;
  const id = live.lastQuestion;
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      live.questions.delete(id);
      cancelTimer();
      question.signal.removeEventListener('abort', withdraw);
      act();
    };
    const drop = () => settle(() => reject(new GatewayError('CANCELLED')));
    const withdraw = () => {
      send(JSON.stringify(notification('notifications/cancelled', { requestId: id })));
      drop();
    };
    const answer = (response: RpcResponse) =>
      settle(() => ('error' in response ? reject(new RpcRefusal(response.error)) : resolve(response.result)));
    const cancelTimer = after(ttlMs, withdraw);
    live.questions.set(id, { answer, drop });
    question.signal.addEventListener('abort', withdraw, { once: true });
    if (question.signal.aborted || !send(JSON.stringify(request(id, question.method, question.params)))) {
      drop();
    }
  });
}

/** A response of the client. One to nothing, or the second to one question, is ignored. */
export function takeAnswer(session: Session, response: RpcResponse): void {
  session.live.questions.get(response.id)?.answer(response);
}
