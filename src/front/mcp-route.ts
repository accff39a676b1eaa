import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { HEADERS, headerOf } from '../protocol/headers.ts';
import type { RpcId, RpcMessage, RpcRequest } from '../protocol/json-rpc.ts';
import { takeAnswer } from './asking.ts';
import { batchOf } from './batch.ts';
import { answerInSession, endSession, greet, hear, modernContext, type Standing } from './channel.ts';
import { type EndpointRoute, entranceOf } from './entrance.ts';
import { Exchange, type ExchangeOptions, openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { acceptedForms } from './guard.ts';
import { parseJson, sortInbound } from './inbound.ts';
import { serveListen } from './listen-route.ts';
import { refusal } from './refusal.ts';
import { replaysOf, serveGet } from './session-stream.ts';
import type { Session } from './sessions.ts';
import type { SseStream } from './sse-stream.ts';

type Request = FastifyRequest<EndpointRoute>;

/** One HTTP request on its way through the front. */
export interface Visit extends Standing {
  readonly front: FrontOptions;
  readonly request: Request;
  readonly reply: FastifyReply;
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
      handler: (_request, reply) => notOffered(reply, ALLOW),
    });
  }
}

/** Who it is and where. Rejects with ENDPOINT_UNKNOWN, and with whatever sign-in refuses. */
export async function visit(front: FrontOptions, request: Request, reply: FastifyReply): Promise<Visit> {
  const entrance = entranceOf(request, front.settings);
  const principal = await front.authenticate(request.headers);
  return { front, request, reply, entrance, principal, log: request.log, headers: request.corsHeaders };
}

async function post(front: FrontOptions, request: Request, reply: FastifyReply): Promise<FastifyReply> {
  const here = await visit(front, request, reply);
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  if (!accepts.json && !accepts.sse) {
    throw new GatewayError('ACCEPT_REFUSED');
  }
  const inbound = sortInbound(bodyOf(request), request.headers);
  switch (inbound.kind) {
    case 'modern-request':
      return modern(here, inbound.message, inbound.version);
    case 'modern-notification':
      return reply.code(202).send();
    case 'initialize': {
      const { sessionId, json } = greet(front, here, inbound.message);
      return reply.headers({ 'mcp-session-id': sessionId }).type('application/json').send(json);
    }
    case 'legacy':
      return legacy(here, inbound.message, sessionOf(here, inbound.sessionId));
    case 'batch':
      return batch(here, inbound.values, sessionOf(here, inbound.sessionId));
    case 'refused':
      return refuse(reply, inbound.error, inbound.id);
  }
}

/** The JSON value of a body; throws TYPE_REFUSED where there is none, PARSE_FAILED where it is no JSON. */
export function bodyOf(request: FastifyRequest): unknown {
  if (!Buffer.isBuffer(request.body)) {
    throw new GatewayError('TYPE_REFUSED');
  }
  return parseJson(request.body.toString('utf8'));
}

/** A modern request: the client's closing the response cancels it. */
async function modern(here: Visit, message: RpcRequest, version: string): Promise<FastifyReply> {
  const { front, reply, request } = here;
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  const about = { message, version, headers: request.headers };
  if (message.method === 'subscriptions/listen') {
    const context = modernContext(front, here, about, { signal: gone.signal, say: () => false });
    try {
      await serveListen(front, message, context, () => streamFor(here));
    } catch (thrown) {
      return refuse(reply, toGatewayError(thrown), message.id);
    }
    return reply;
  }
  const exchange = exchangeFor(here, () => streamFor(here));
  const way = { signal: gone.signal, say: (json: string) => exchange.say(json) };
  exchange.finish(await front.relay.handle(message, modernContext(front, here, about, way)));
  return reply;
}

/** A message of a session. A connection that breaks cancels nothing: the client takes the stream up again. */
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
  const exchange = exchangeFor(here, () => resumableFor(here, session));
  const say = (json: string) => exchange.say(json);
  const answered = await answerInSession(front, here, session, message, say);
  exchange.finish(answered.reply);
  return reply;
}

async function batch(here: Visit, values: readonly unknown[], session: Session): Promise<FastifyReply> {
  const { answers, serve } = batchOf(here.front, here, session, values);
  if (answers === 0) {
    await serve({ say: () => false, answer: () => {} });
    return here.reply.code(202).send();
  }
  const exchange = exchangeFor(here, () => resumableFor(here, session), { batch: answers });
  await serve({ say: (json) => exchange.say(json), answer: (reply) => exchange.finish(reply) });
  return here.reply;
}

function exchangeFor(
  { front, request, reply }: Visit,
  stream: ExchangeOptions['stream'],
  more: Pick<ExchangeOptions, 'batch'> = {},
): Exchange {
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  return new Exchange({ reply, accepts, stream, openAfter: front.settings.streams.openAfter, ...more });
}

function streamFor({ front, reply, headers, log }: Visit): SseStream {
  return openStream(reply, headers, front.settings.streams, log);
}

function resumableFor(here: Visit, session: Session) {
  const stream = replaysOf(session, here.front).open();
  stream.begin(streamFor(here));
  return stream;
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
    return notOffered(reply, ALLOW);
  }
  const here = await visit(front, request, reply);
  const session = sessionOf(here, sessionId);
  if (!acceptedForms(headerOf(request.headers, 'accept')).sse) {
    throw new GatewayError('ACCEPT_REFUSED', { detail: 'A GET needs text/event-stream.' });
  }
  return serveGet(front, session, { ...here, lastEvent: headerOf(request.headers, HEADERS.lastEvent) });
}

async function end(front: FrontOptions, request: Request, reply: FastifyReply): Promise<FastifyReply> {
  const sessionId = headerOf(request.headers, HEADERS.session);
  if (sessionId === undefined) {
    return notOffered(reply, ALLOW);
  }
  const here = await visit(front, request, reply);
  endSession(front, sessionOf(here, sessionId));
  return reply.code(204).send();
}

export function notOffered(reply: FastifyReply, allow: string): FastifyReply {
  reply.header('allow', allow);
  return refuse(reply, new GatewayError('HTTP_METHOD_REFUSED'));
}

/** Answers a request that never got as far as its method. */
export function refuse(reply: FastifyReply, error: GatewayError, id?: RpcId): FastifyReply {
  reply.request.log[error.row.log]({ err: error }, 'refused');
  const { status, json } = refusal(error, id);
  return reply.code(status).type('application/json').send(json);
}
