import { writeChallenge } from '../access/challenge.ts';
import { ERRORS } from '../base/error-table.ts';
import type { GatewayError } from '../base/errors.ts';
import { wireError } from '../protocol/codec.ts';
import { failure, type RpcId } from '../protocol/json-rpc.ts';
import type { Reply } from '../relay/relay.ts';
import type { HttpReply, HttpRequest } from './http.ts';

/** The answer to a message that never got as far as its method; without an id where none could be read. */
export function refusal(error: GatewayError, id: RpcId | undefined): Reply {
  return { status: error.row.http, json: JSON.stringify(failure(id, wireError(error))) };
}

/** Answers an HTTP request with it. */
export function refuse(reply: HttpReply, error: GatewayError, id?: RpcId): void {
  reply.request.log[error.row.log]({ err: error }, 'refused');
  reply.server.noteRefusal(error.code);
  const { status, json } = refusal(error, id);
  void reply.code(status).headers(refusalHeaders(reply.request, error)).type('application/json').send(json);
}

/** What the headers of a refusal say of it: what to sign in with (RFC 6750, 3), and when to come again. */
export function refusalHeaders(
  request: Pick<HttpRequest, 'endpoint' | 'server'>,
  error: Pick<GatewayError, 'code' | 'scopes' | 'data'>,
): Readonly<Record<string, string>> {
  const { endpoint, server } = request;
  const challenge = endpoint === undefined ? undefined : server.challengeAt(endpoint, error);
  const wait = error.data?.['retryAfterMs'];
  const { http } = ERRORS[error.code];
  return {
    ...(challenge === undefined ? {} : { 'www-authenticate': writeChallenge(challenge) }),
    ...(typeof wait === 'number' && (http === 429 || http === 503)
      ? { 'retry-after': String(Math.ceil(wait / 1_000)) }
      : {}),
  };
}
