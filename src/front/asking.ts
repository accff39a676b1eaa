import { GatewayError, RpcRefusal } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import { notification, type RpcResponse, request } from '../protocol/json-rpc.ts';
import type { SessionFace } from '../relay/context.ts';
import type { Live } from './live.ts';
import type { Session } from './sessions.ts';

type Question = Parameters<SessionFace['ask']>[0];

/**
 * Sends a question of a server to the client of a legacy session and waits for the message that answers it. `send`
 * writes to a stream of the session and says whether it can be heard; where it cannot, a stream at another replica will do. Rejects with the client's own error (RpcRefusal),
 * or with CANCELLED when there is no stream, no answer within `ttlMs`, the session ends, or the server takes the
 * question back.
 */
export function askClient(
  { live }: Pick<Session, 'live'>,
  question: Question,
  send: (json: string) => boolean,
  ttlMs: number,
): Promise<JsonObject> {
  live.lastQuestion += 1;
  const id = questionId(live);
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
    if (question.signal.aborted) {
      drop();
    } else if (!send(JSON.stringify(request(id, question.method, question.params)))) {
      const { afar } = live;
      settle(() =>
        afar === undefined ? reject(new GatewayError('CANCELLED')) : resolve(afar.ask(question)),
      );
    }
  });
}

/** A number, which every client can read; where there are replicas, with the name of the one that it is to be answered to. */
function questionId({ afar, lastQuestion }: Live): number | string {
  return afar === undefined ? lastQuestion : `${afar.home}.${lastQuestion}`;
}

/** A response of the client. One to nothing, or the second to one question, is ignored. */
export function takeAnswer({ live }: Pick<Session, 'live'>, response: RpcResponse): void {
  const question = live.questions.get(response.id);
  if (question === undefined) {
    live.afar?.answer(response);
  } else {
    question.answer(response);
  }
}
