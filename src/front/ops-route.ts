import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sentCredentials } from '../access/credential.ts';
import type { Principal } from '../access/principal.ts';
import { MCP } from '../access/resource.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { FrontOptions } from './front.ts';
import { isLoopback } from './guard.ts';
import { WITH_HEAD } from './http.ts';

/** `/healthz`: the process lives. `/readyz`: traffic may come; details only for operators. `/api/…`: for them alone. */
export function opsRoutes(server: FastifyInstance, front: FrontOptions): void {
  server.get('/healthz', WITH_HEAD, async () => ({ status: 'ok' }));
  server.get('/readyz', WITH_HEAD, async (request, reply) => {
    const { ready, status, config, state, upstreams, gone } = front.readiness();
    const operator = await isOperator(front, request);
    reply.code(ready ? 200 : 503);
    return operator ? { status, config, state, upstreams, gone } : { status };
  });
}

/**
 * Lets operators pass: with sign-in the members of `operators.groups`, without it whoever sits at this machine (design,
 * Settled questions), and says who it is. Rejects with whatever sign-in refuses, and with OPERATORS_ONLY for everybody else.
 */
export async function operatorOnly(
  { regime }: Pick<FrontOptions, 'regime'>,
  request: FastifyRequest,
): Promise<Principal> {
  const { settings, authenticate } = regime();
  if (settings.auth.mode === 'none' && !isLocal(request)) {
    throw new GatewayError('OPERATORS_ONLY', { logged: 'not from this machine' });
  }
  const principal = await authenticate(sentCredentials(request.raw.rawHeaders), MCP);
  if (!isOperatorBy(settings, principal)) {
    throw new GatewayError('OPERATORS_ONLY', { logged: `${principal.id} is in none of operators.groups` });
  }
  return principal;
}

/** Whether this configuration makes somebody an operator; without sign-in everybody who is at this machine is one. */
export function isOperatorBy({ auth, operators }: Settings, { groups }: Principal): boolean {
  return auth.mode === 'none' || operators.groups.some((group) => groups.includes(group));
}

/** Nobody is refused here. */
async function isOperator(front: FrontOptions, request: FastifyRequest): Promise<boolean> {
  try {
    await operatorOnly(front, request);
    return true;
  } catch (thrown) {
    if (toGatewayError(thrown).code !== 'OPERATORS_ONLY') {
      request.log.debug({ err: thrown }, 'somebody who is not signed in asked for the state');
    }
    return false;
  }
}

/** Whether a request came from this very machine. */
function isLocal(request: FastifyRequest): boolean {
  return isLoopback((request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
}
