import type { GatewayError } from '../base/errors.ts';
import { wireError } from '../protocol/codec.ts';
import { failure, type RpcId } from '../protocol/json-rpc.ts';
import type { Reply } from '../relay/relay.ts';

/** The answer to a message that never got as far as its method; without an id where none could be read. */
export function refusal(error: GatewayError, id: RpcId | undefined): Reply {
  return { status: error.row.http, json: JSON.stringify(failure(id, wireError(error))) };
}
