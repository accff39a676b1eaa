import { errors } from 'undici';
import { GatewayError } from '../base/errors.ts';
import { own } from '../base/json.ts';

/** Errors of the network, of zlib, of pipes and of process starts, translated once, here, where they enter. */

/** What can be told to a stranger about why no connection came about: no host, no address, no path. */
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'It refused the connection.',
  ECONNRESET: 'It closed the connection at once.',
  UND_ERR_SOCKET: 'It closed the connection at once.',
  ENOTFOUND: 'Its host name was not found.',
  EAI_AGAIN: 'Its host name could not be looked up.',
  EHOSTUNREACH: 'Its network is not reachable.',
  ENETUNREACH: 'Its network is not reachable.',
  ETIMEDOUT: 'It did not accept a connection in time.',
  UND_ERR_CONNECT_TIMEOUT: 'It did not accept a connection in time.',
};
const CERTIFICATE = /CERT|SELF_SIGNED|LEAF_SIGNATURE/;
/** Headers without end, or a body that is not compressed as it says (zlib, brotli). */
const UNREADABLE = /^(?:UND_ERR_HEADERS_OVERFLOW|Z_|ERR_BROTLI|ERR__ERROR_|ERR_PADDING|ERR_BUFFER)/;

export interface Occasion {
  readonly upstream: string;
  /** False only when it is certain that nothing of the request had been written. */
  readonly sent: boolean;
}

/** An error of a connection or of a body. What is a GatewayError already, for instance an abort's reason, stays. */
export function fromNetwork(thrown: unknown, { upstream, sent }: Occasion): GatewayError {
  if (thrown instanceof GatewayError) {
    return thrown;
  }
  const code = codeOf(thrown);
  if (code === 'UND_ERR_INVALID_ARG') {
    // A header or path that cannot be written at all: ours or the configuration's fault, never the upstream's.
    return new GatewayError('INTERNAL', { upstream, cause: thrown });
  }
  if (thrown instanceof errors.HTTPParserError || UNREADABLE.test(code)) {
    return new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged: code, cause: thrown });
  }
  if (sent) {
    return new GatewayError('UPSTREAM_LOST', { upstream, cause: thrown });
  }
  const detail = CERTIFICATE.test(code) ? 'Its TLS certificate is not trusted.' : own(UNREACHED, code);
  return new GatewayError('UPSTREAM_DOWN', {
    upstream,
    cause: thrown,
    ...(detail === undefined ? {} : { detail }),
  });
}

/**
 * A line that could not be written to a child. An unfinished line is no message, so nothing reached the server that it
 * could have acted on; only of several lines in one write the first ones may have.
 */
export function fromPipe(thrown: unknown, upstream: string, several = false): GatewayError {
  const code = several ? 'UPSTREAM_LOST' : 'UPSTREAM_DOWN';
  return new GatewayError(code, { upstream, detail: 'Its process has ended.', cause: thrown });
}

/** The code of a system, undici or zlib error; '' for anything else. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}
