import { isObject } from '../base/json.ts';
import { scrub } from '../base/secrets.ts';
import type { RpcMessage } from '../protocol/json-rpc.ts';

/** Only the server that wrote it must understand it, and it leaves the gateway sealed. */
const OPAQUE: ReadonlySet<string> = new Set(['requestState']);

/**
 * The message as everything behind the connection gets it: servers repeat what they were told, in results, errors,
 * notices, questions and descriptions, and no client and no other server may read a credential there (case C-095).
 * Changes the message itself, which was parsed for this.
 */
export function scrubbed(message: RpcMessage): RpcMessage {
  const { params, result, error }: { params?: unknown; result?: unknown; error?: unknown } = message;
  for (const body of [params, result, error]) {
    if (isObject(body)) {
      scrub(body, OPAQUE);
    }
  }
  return message;
}
