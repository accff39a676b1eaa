import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FrontOptions } from './front.ts';
import { isLoopback } from './guard.ts';

/** `/healthz`: the process lives. `/readyz`: traffic may come; details only for whoever sits at this machine. */
export function opsRoutes(server: FastifyInstance, front: FrontOptions): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async (request, reply) => {
    const { ready, status, upstreams } = front.readiness();
    reply.code(ready ? 200 : 503);
    return isLocal(request) ? { status, upstreams } : { status };
  });
}

/** Whether a request came from this very machine. */
function isLocal(request: FastifyRequest): boolean {
  return isLoopback((request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
}
