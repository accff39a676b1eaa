import { createAuthenticate } from '../../../src/access/authenticate.ts';
import type { Endpoint } from '../../../src/access/resource.ts';
import type { ErrorCode } from '../../../src/base/error-table.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { fetchJson } from '../../../src/base/fetch-json.ts';
import { createLog } from '../../../src/base/log.ts';
import { parseSettings } from '../../../src/config/load.ts';
import type { Settings } from '../../../src/config/settings.ts';

export const BASE = 'https://gw.example';
export const MCP: Endpoint = { path: '/mcp', name: undefined };

/** The section `auth` as a file would be read. */
export function authOf(auth: object): Settings['auth'] {
  const text = JSON.stringify({ auth, upstreams: {} });
  return parseSettings(text, { file: 'gateway.yaml', env: {}, readFile: () => '', overrides: {} }).settings
    .auth;
}

/** A sign-in with a clock that can be moved on, and what it logged. */
export function signInWith(auth: object) {
  let ahead = 0;
  let logged = '';
  const log = createLog({
    level: 'trace',
    readable: false,
    destination: { write: (line) => (logged += line) },
  });
  const signIn = createAuthenticate(authOf(auth), {
    base: () => BASE,
    fetchJson,
    log,
    now: () => Date.now() + ahead,
  });
  const authenticate = async (...presented: Parameters<typeof signIn>) => signIn(...presented);
  return {
    authenticate,
    bearer: (token: string, endpoint = MCP) => authenticate({ authorization: [`Bearer ${token}`] }, endpoint),
    /** In ms. */
    forward: (ms: number) => {
      ahead += ms;
    },
    get logged() {
      return logged;
    },
  };
}

/** The error that something is refused with; throws where it is not, or with an error of another kind. */
export async function refusalOf(attempt: Promise<unknown>): Promise<GatewayError> {
  const outcome = await attempt.then(
    () => new Error('it was let in'),
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof GatewayError) {
    return outcome;
  }
  throw outcome;
}

export const codeOf = async (attempt: Promise<unknown>): Promise<ErrorCode> =>
  (await refusalOf(attempt)).code;
