import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { requireEventStream } from './guard.ts';
import { Peer } from './peer.ts';
import { refuse } from './refusal.ts';
import { bodyOf, clientRoutes, notOffered, type Visit } from './visit.ts';

/** One open stream. Its id is of use to the very principal and entrance that opened it. */
interface Client {
  readonly peer: Peer;
  readonly principal: string;
  readonly entrance: string;
}

/**
 * The HTTP+SSE transport of 2024-11-05: a GET opens the one stream that carries every message to the client, and names
 * the address that the client posts its own to. The end of the stream ends everything.
 */
export function sse2024Routes(server: FastifyInstance, front: FrontOptions): void {
  const { enabled, path } = front.regime().settings.legacySse;
  const clients = new Map<string, Client>();
  if (enabled) {
    clientRoutes(server, front, path, {
      GET: (here) => open(clients, here),
      POST: (here) => post(clients, here),
    });
  }
}

async function open(clients: Map<string, Client>, here: Visit): Promise<void> {
  const { front, request, reply, standing, principal, entrance, log } = here;
  requireEventStream(request.headers);
  front.streams.reserve(principal);
  const stream = openStream(reply, here.headers, front, log);
  const peer = new Peer({ front, standing, outlet: stream, modern: false });
  const id = randomUUID();
  clients.set(id, { peer, principal: principal.key, entrance: entrance.id });
  // What was asked for before a shutdown is still answered; the client can ask for nothing more.
  const remove = front.streams.add(() => void peer.drained().then(() => stream.end()), standing);
  stream.onClose(() => {
    remove();
    clients.delete(id);
    peer.close();
  });
  stream.nameEndpoint(addressOf(request.url, id, front.regime().settings.listen.publicUrl));
}

async function post(clients: Map<string, Client>, here: Visit): Promise<void> {
  const { request, reply, principal, entrance } = here;
  const { sessionId } = request.query;
  if (sessionId === undefined) {
    // A client that tries the newer transport first: this status sends it to the older one.
    return notOffered(here);
  }
  const client = clients.get(String(sessionId));
  if (client?.principal !== principal.key || client.entrance !== entrance.id) {
    return refuse(reply, new GatewayError('SESSION_UNKNOWN'));
  }
  const served = client.peer.take(bodyOf(here));
  void reply.code(202).send();
  await served;
}

/**
 * The path and query of the stream with its id added, so that style and upstream stay as asked. Absolute, since not
 * every client resolves relative references; behind a proxy that adds a path, that is the one of `publicUrl`.
 */
function addressOf(url: string, id: string, publicUrl: string | undefined): string {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const prefix =
    publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '').replace(/\/mcp$/, '');
  searchParams.set('sessionId', id);
  return `${prefix}${pathname}?${searchParams}`;
}
