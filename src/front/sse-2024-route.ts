import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import type { EndpointRoute } from './entrance.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { acceptedForms } from './guard.ts';
import { bodyOf, notOffered, refuse, visit } from './mcp-route.ts';
import { Peer } from './peer.ts';

/** Where messages are posted: the address of the stream, with the id of the stream in its query. */
interface PostRoute extends EndpointRoute {
  readonly Querystring: EndpointRoute['Querystring'] & { readonly sessionId?: string | string[] };
}

/** One open stream. Its id is of use to the very principal and entrance that opened it. */
interface Client {
  readonly peer: Peer;
  readonly principal: string;
  readonly entrance: string;
}

const ALLOW = 'GET, POST, OPTIONS';

/**
 * The HTTP+SSE transport of 2024-11-05: a GET opens the one stream that carries every message to the client, and names
 * the address that the client posts its own to. The end of the stream ends everything.
 */
export function sse2024Routes(server: FastifyInstance, front: FrontOptions): void {
  const { enabled, path } = front.settings.legacySse;
  const clients = new Map<string, Client>();
  for (const url of enabled ? [path, `${path}/:name`] : []) {
    server.get<PostRoute>(url, (request, reply) => open(front, clients, request, reply));
    server.post<PostRoute>(url, (request, reply) => post(front, clients, request, reply));
    server.route<PostRoute>({
      method: ['HEAD', 'PUT', 'PATCH', 'DELETE'],
      url,
      handler: (_request, reply) => notOffered(reply, ALLOW),
    });
  }
}

async function open(
  front: FrontOptions,
  clients: Map<string, Client>,
  request: FastifyRequest<PostRoute>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const here = await visit(front, request, reply);
  const { principal, entrance, log } = here;
  if (!acceptedForms(request.headers.accept).sse) {
    throw new GatewayError('ACCEPT_REFUSED', { detail: 'A GET needs text/event-stream.' });
  }
  front.streams.reserve();
  const stream = openStream(reply, here.headers, front.settings.streams, log);
  const peer = new Peer({ front, standing: { principal, entrance, log }, outlet: stream, modern: false });
  const id = randomUUID();
  clients.set(id, { peer, principal: principal.key, entrance: entrance.id });
  const remove = front.streams.add(() => stream.end());
  stream.onClose(() => {
    remove();
    clients.delete(id);
    peer.close();
  });
  stream.announce('endpoint', addressOf(request.url, id, front.settings.listen.publicUrl));
  return reply;
}

async function post(
  front: FrontOptions,
  clients: Map<string, Client>,
  request: FastifyRequest<PostRoute>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { sessionId } = request.query;
  if (sessionId === undefined) {
    // A client that tries the newer transport first: this status sends it to the older one.
    return notOffered(reply, ALLOW);
  }
  const { principal, entrance } = await visit(front, request, reply);
  const client = clients.get(String(sessionId));
  if (client?.principal !== principal.key || client.entrance !== entrance.id) {
    return refuse(reply, new GatewayError('SESSION_UNKNOWN'));
  }
  const message = bodyOf(request);
  client.peer.take(message);
  return reply.code(202).send();
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
