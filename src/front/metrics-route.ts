import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { credentialOf, sentCredentials } from '../access/credential.ts';
import { MCP } from '../access/resource.ts';
import { GatewayError } from '../base/errors.ts';
import type { FrontOptions } from './front.ts';
import { WITH_HEAD } from './http.ts';
import { operatorOnly } from './ops-route.ts';

/** The text format of Prometheus. */
const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `GET /metrics`, where metrics are counted: for operators, for whoever has the token for it, or for all who may connect. */
export function metricsRoute(server: FastifyInstance, front: FrontOptions): void {
  const { metrics } = front;
  if (metrics === undefined) {
    return;
  }
  server.server.on('connection', (socket) => metrics.traffic.add(socket));
  server.get('/metrics', WITH_HEAD, async (request, reply) => {
    // Pages of other origins have no business here, whatever they may do elsewhere.
    for (const name of Object.keys(request.corsHeaders)) {
      reply.removeHeader(name);
    }
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    await admitted(front, request);
    reply.type(TYPE);
    return metrics.text();
  });
}

async function admitted(front: FrontOptions, request: FastifyRequest): Promise<void> {
  const { metrics } = front.regime().settings;
  if (metrics.public || isToken(metrics.tokenSha256, request)) {
    return;
  }
  request.endpoint = MCP;
  await operatorOnly(front, request);
}

/** Whether a request came with the token that is good for this alone. Compared by digests, in constant time. */
function isToken(sha256: string | undefined, request: FastifyRequest): boolean {
  if (sha256 === undefined) {
    return false;
  }
  try {
    const { text } = credentialOf(sentCredentials(request.raw.rawHeaders));
    // A header is bytes, each of which Node makes a character.
    const sent = createHash('sha256').update(text, 'latin1').digest();
    return timingSafeEqual(sent, Buffer.from(sha256, 'hex'));
  } catch (thrown) {
    if (thrown instanceof GatewayError) {
      // No credential, or none that could be this one: whether that is enough, operatorOnly says.
      return false;
    }
    throw thrown;
  }
}
