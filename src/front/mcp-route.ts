import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, stringAt } from '../base/json.ts';
import { codecFor } from '../protocol/codec.ts';
import { HEADERS, headerOf } from '../protocol/headers.ts';
import {
  failure,
  notification,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  result,
} from '../protocol/json-rpc.ts';
import { META, metaOf } from '../protocol/meta.ts';
import type { Implementation } from '../protocol/model.ts';
import { negotiateLegacy } from '../protocol/versions.ts';
import type { ClientFace, Entrance, RequestContext, SessionFace } from '../relay/context.ts';
import { askClient, takeAnswer } from './asking.ts';
import { type EndpointRoute, entranceOf } from './entrance.ts';
import { Exchange } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { acceptedForms } from './guard.ts';
import { parseBody, sortInbound } from './inbound.ts';
import { serveListen, serveSessionStream } from './listen-route.ts';
import { cancelCall, type Session, trackCall } from './sessions.ts';

type Request = FastifyRequest<EndpointRoute>;

/** One POST on its way through the front. */
interface Visit {
  readonly front: FrontOptions;
  readonly request: Request;
  readonly reply: FastifyReply;
  readonly entrance: Entrance;
  readonly principal: Principal;
  /** CORS headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

const ALLOW = 'POST, GET, DELETE, OPTIONS';

/** `POST`, `GET` and `DELETE` of `/mcp` and `/mcp/<upstream id>`. */
export function mcpRoutes(server: FastifyInstance, front: FrontOptions): void {
  for (const url of ['/mcp', '/mcp/:name']) {
    server.post<EndpointRoute>(url, (request, reply) => post(front, request, reply));
    server.get<EndpointRoute>(url, (request, reply) => get(front, request, reply));
    server.delete<EndpointRoute>(url, (request, reply) => end(front, request, reply));
    server.route<EndpointRoute>({
      method: ['HEAD', 'PUT', 'PATCH'],
      url,
      handler: (_request, reply) => notOffered(reply),
    });
  }
}

async function visit(front: FrontOptions, request: Request, reply: FastifyReply): Promise<Visit> {
  const entrance = entranceOf(request, front.settings);
  const principal = await front.authenticate(request.headers);
  return { front, request, reply, entrance, principal, headers: request.corsHeaders };
}

async function post(front: FrontOptions, request: Request, reply: FastifyReply): Promise<FastifyReply> {
  const here = await visit(front, request, reply);
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  if (!accepts.json && !accepts.sse) {
    throw new GatewayError('ACCEPT_REFUSED');
  }
  if (!Buffer.isBuffer(request.body)) {
    throw new GatewayError('TYPE_REFUSED');
  }
  const inbound = sortInbound(parseBody(request.body), request.headers);
  switch (inbound.kind) {
    case 'modern-request':
      return modern(here, inbound.message, inbound.version);
    case 'modern-notification':
      return reply.code(202).send();
    case 'initialize':
      return initialize(here, inbound.message);
    case 'legacy':
      return legacy(here, inbound.message, sessionOf(here, inbound.sessionId));
    case 'refused':
      return refuse(reply, inbound.error, inbound.id);
  }
}

/** A modern request: everything it needs is in it; the client's closing the response cancels it. */
async function modern(here: Visit, message: RpcRequest, version: string): Promise<FastifyReply> {
  const { front, request, reply } = here;
  const meta = metaOf(message.params);
  const capabilities = meta[META.clientCapabilities];
  const client: ClientFace = {
    info: implementation(meta[META.clientInfo]),
    capabilities: isObject(capabilities) ? capabilities : {},
    logLevel: stringAt(meta, META.logLevel),
  };
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  const exchange = exchangeFor(here);
  const context: RequestContext = {
    ...common(here, client, version, gone.signal),
    headers: request.headers,
    session: undefined,
    notify: (notice) => exchange.notify(notice),
  };
  if (message.method === 'subscriptions/listen') {
    await serveListen(front, message, context, reply, here.headers);
    return reply;
  }
  exchange.finish(await front.relay.handle(message, context));
  return reply;
}

/** Opens a session: the id carries all that a later request needs, so it outlives a restart of the gateway. */
function initialize(here: Visit, message: RpcRequest): FastifyReply {
  const { front, reply, principal, entrance } = here;
  const params = message.params ?? {};
  const version = negotiateLegacy(params['protocolVersion']);
  const id = front.sessions.create({
    version,
    info: params['clientInfo'],
    capabilities: params['capabilities'],
    principal,
    entrance: entrance.id,
  });
  const answer = result(message.id, front.hello.initialize(entrance, version));
  here.request.log.info({ client: implementation(params['clientInfo']).name, version }, 'session opened');
  return reply.headers({ 'mcp-session-id': id }).type('application/json').send(JSON.stringify(answer));
}

async function legacy(here: Visit, message: RpcMessage, session: Session): Promise<FastifyReply> {
  const { front, reply } = here;
  if (!('method' in message)) {
    takeAnswer(session, message);
    return reply.code(202).send();
  }
  if (!('id' in message)) {
    await hear(front, message, session);
    return reply.code(202).send();
  }
  const cancelled = new AbortController();
  const done = trackCall(session, message.id, cancelled);
  const exchange = exchangeFor(here);
  const client: ClientFace = { ...session, logLevel: session.live.logLevel };
  const context: RequestContext = {
    ...common(here, client, session.version, cancelled.signal),
    headers: undefined,
    session: faceOf(session, exchange, front.settings.questions.ttl),
    notify: (notice) => exchange.notify(notice),
  };
  try {
    exchange.finish(await front.relay.handle(message, context));
  } finally {
    done();
  }
  return reply;
}

/** A notification of a legacy client. What means nothing here is taken all the same: it needs no answer. */
async function hear(front: FrontOptions, message: RpcNotification, session: Session): Promise<void> {
  if (message.method === 'notifications/cancelled') {
    cancelCall(session, message.params?.['requestId']);
  } else if (message.method === 'notifications/roots/list_changed') {
    await front.upstreams.notify(session.sid, message.method, message.params);
  }
}

/** How the relay reaches the client of this session: on the stream of its request, or on its newest stream of all. */
function faceOf(session: Session, exchange: Exchange, ttlMs: number): SessionFace {
  const { live } = session;
  const aside = (json: string) => {
    const stream = [...live.streams].at(-1);
    stream?.send(json);
    return stream?.open === true;
  };
  return {
    sid: session.sid,
    ask: (question) => askClient(session, question, (json) => exchange.say(json) || aside(json), ttlMs),
    askAside: (question) => askClient(session, question, aside, ttlMs),
    setLogLevel: (level) => {
      live.logLevel = level;
    },
    watch: ({ uri, start }) => {
      const tell = (updated: string) =>
        aside(JSON.stringify(notification('notifications/resources/updated', { uri: updated })));
      if (!live.watched.has(uri)) {
        live.watched.set(uri, start(tell));
      }
    },
    unwatch: (uri) => {
      live.watched.get(uri)?.();
      live.watched.delete(uri);
    },
  };
}

function common(here: Visit, client: ClientFace, version: string, signal: AbortSignal) {
  const { front, request, principal, entrance } = here;
  return {
    principal,
    codec: codecFor(version),
    client,
    entrance,
    catalog: front.catalog(),
    signal,
    log: request.log,
  };
}

function exchangeFor(here: Visit): Exchange {
  const { front, request, reply, headers } = here;
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  return new Exchange({ reply, accepts, headers, streams: front.settings.streams, log: request.log });
}

function sessionOf(here: Visit, id: string): Session {
  const session = here.front.sessions.open(id, here.principal, here.entrance.id);
  if (session === undefined) {
    throw new GatewayError('SESSION_UNKNOWN');
  }
  return session;
}

/** The stream of a legacy session. Without a session it is refused at once: some clients would wait on it for ever. */
async function get(front: FrontOptions, request: Request, reply: FastifyReply): Promise<FastifyReply> {
  const sessionId = headerOf(request.headers, HEADERS.session);
  if (sessionId === undefined) {
    return notOffered(reply);
  }
  const here = await visit(front, request, reply);
  const session = sessionOf(here, sessionId);
  if (!acceptedForms(headerOf(request.headers, 'accept')).sse) {
    throw new GatewayError('ACCEPT_REFUSED', { detail: 'A GET needs text/event-stream.' });
  }
  serveSessionStream(front, session, { entrance: here.entrance, log: request.log }, reply, here.headers);
  return reply;
}

async function end(front: FrontOptions, request: Request, reply: FastifyReply): Promise<FastifyReply> {
  const sessionId = headerOf(request.headers, HEADERS.session);
  if (sessionId === undefined) {
    return notOffered(reply);
  }
  const here = await visit(front, request, reply);
  const session = sessionOf(here, sessionId);
  front.sessions.end(session);
  front.upstreams.release(session.sid);
  return reply.code(204).send();
}

function notOffered(reply: FastifyReply): FastifyReply {
  reply.header('allow', ALLOW);
  return refuse(reply, new GatewayError('HTTP_METHOD_REFUSED'));
}

/** An answer to a request that never got as far as its method. */
export function refuse(reply: FastifyReply, error: GatewayError, id?: RpcId): FastifyReply {
  reply.request.log[error.row.log]({ err: error }, 'refused');
  const { message, data } = error;
  const body = failure(id, { code: error.row.rpc, message, data: { code: error.code, ...data } });
  return reply.code(error.row.http).type('application/json').send(JSON.stringify(body));
}

function implementation(value: unknown): Implementation {
  const name = stringAt(value, 'name') ?? 'unnamed';
  return isObject(value)
    ? { ...value, name, version: stringAt(value, 'version') ?? '' }
    : { name, version: '' };
}
