import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Peers } from '../state/peers.ts';
import type { Talk } from '../state/talk.ts';
import type { ParkedCalls, ParkedElsewhere, Turn } from './parked.ts';

/** Calls that wait for answers at another replica than the one that was given them. */

export const RESUME = 'parked-resume';

export function parkedElsewhere(peers: Peers): ParkedElsewhere | undefined {
  return peers.shared
    ? {
        home: peers.name,
        async resume(home, answers, { principal, capabilities, signal, onNotice }) {
          const asked = { ...answers, principal, capabilities };
          const heard = ({ notice }: JsonObject) => {
            if (isObject(notice)) {
              // Sealed by the replica that got it from `onNotice` itself.
              onNotice(notice as unknown as RpcNotification);
            }
          };
          try {
            // Answered by `serveResume`, which has this type.
            return (await peers.ask(home, RESUME, asked, { signal, heard }).answer) as unknown as Turn;
          } catch (thrown) {
            if (thrown instanceof GatewayError && thrown.code === 'PEER_ABSENT') {
              throw new GatewayError('STATE_INVALID', { cause: thrown });
            }
            throw thrown;
          }
        },
      }
    : undefined;
}

/** Goes on with a call that waits here. Rejects with STATE_INVALID where it is not this principal's, or gone. */
export async function serveResume(asked: JsonObject, talk: Talk, parked: ParkedCalls): Promise<JsonObject> {
  const { id, round, responses, principal, capabilities } = asked;
  const turn = await parked.resumeHere(
    { id: String(id), round: Number(round), responses },
    {
      principal: String(principal),
      capabilities: isObject(capabilities) ? capabilities : {},
      signal: talk.signal,
      onNotice: (notice) => talk.say({ notice }),
    },
  );
  return { ...turn };
}
