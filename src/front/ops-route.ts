import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sentCredentials } from '../access/credential.ts';
import { MCP } from '../access/resource.ts';
import type { FrontOptions } from './front.ts';
import { isLoopback } from './guard.ts';

/** `/healthz`: the process lives. `/readyz`: traffic may come; details only for operators. */
export function opsRoutes(server: FastifyInstance, front: FrontOptions): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async (request, reply) => {
    const { ready, status, config, upstreams } = front.readiness();
    const operator = await isOperator(front, request);
    reply.code(ready ? 200 : 503);
    return operator ? { status, config, upstreams } : { status };
  });
}

/** Without sign-in whoever sits at this machine, else members of `operators.groups`. Nobody is refused here. */
async function isOperator(front: FrontOptions, request: FastifyRequest): Promise<boolean> {
  const { settings, authenticate } = front.regime();
  const { auth, operators } = settings;
  if (auth.mode === 'none') {
    return isLocal(request);
  }
  try {
    const { groups } = await authenticate(sentCredentials(request.raw.rawHeaders), MCP);
    return operators.groups.some((group) => groups.includes(group));
  } catch (thrown) {
    request.log.debug({ err: thrown }, 'somebody who is not signed in asked for the state');
    return false;
  }
}

/** Whether a request came from this very machine. */
function isLocal(request: FastifyRequest): boolean {
  return isLoopback((request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
}
