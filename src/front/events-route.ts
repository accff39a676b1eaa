import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import { withoutCredentials } from '../base/secrets.ts';
import { API_HEADERS, admitted, othersRefused } from './api-route.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { requireEventStream } from './guard.ts';
import { isOperatorBy } from './ops-route.ts';

/** Most operators who look on at once; beyond, STREAMS_FULL. */
const MOST_LOOKERS = 32;

/** `GET /api/events`: what happens, as it happens, as an event stream for operators (docs/api.md). */
export function eventsRoute(server: FastifyInstance, front: FrontOptions): void {
  const url = '/api/events';
  server.get(url, async (request, reply) => {
    await serveEvents(front, request, reply);
  });
  othersRefused(server, front, url);
}

async function serveEvents(front: FrontOptions, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const principal = await admitted(front, request, reply);
  requireEventStream(request.headers);
  const { feed, streams } = front;
  if (feed.size >= MOST_LOOKERS) {
    throw new GatewayError('STREAMS_FULL');
  }
  let regime = front.regime();
  const standing = regime.admit(principal, { name: undefined, names: undefined }, request.log);
  streams.reserve(principal);
  const stream = openStream(reply, API_HEADERS, front, request.log);
  const tell = (json: string) => {
    const now = front.regime();
    // Whoever came in may be no operator any more since the configuration has changed.
    if (now !== regime && !isOperatorBy(now.settings, principal)) {
      stream.end();
      return;
    }
    regime = now;
    stream.send(withoutCredentials(json));
  };
  stream.send(JSON.stringify({ event: 'begin', at: new Date().toISOString() }));
  stream.onClose(feed.listen(tell));
  stream.onClose(streams.add(() => stream.end(), standing));
}
