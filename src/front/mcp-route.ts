import type { FastifyInstance } from 'fastify';
import { MCP } from '../access/resource.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { HEADERS, headerOf } from '../protocol/headers.ts';
import type { RpcMessage, RpcRequest } from '../protocol/json-rpc.ts';
import { takeAnswer } from './asking.ts';
import { batchOf } from './batch.ts';
import { answerInSession, endSession, greet, hear, modernContext } from './channel.ts';
import { Exchange, type ExchangeOptions, openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import { acceptedForms, requireEventStream } from './guard.ts';
import type { HttpReply } from './http.ts';
import { sortInbound, versionFault } from './inbound.ts';
import { serveListen } from './listen-route.ts';
import { refuse } from './refusal.ts';
import { replaysOf, serveGet } from './session-stream.ts';
import type { Session } from './sessions.ts';
import type { SseStream } from './sse-stream.ts';
import { allowOf, bodyOf, clientRoutes, notOffered, overSignal, type Visit } from './visit.ts';

const SERVED = { POST: post, GET: get, DELETE: end };

/** What serves a POST without the framework, beside these routes. */
export const POSTED = { path: MCP.path, serve: post, allow: allowOf(SERVED) };

/** `POST`, `GET` and `DELETE` of `/mcp` and `/mcp/<upstream id>`. */
export function mcpRoutes(server: FastifyInstance, front: FrontOptions): void {
  clientRoutes(server, front, MCP.path, SERVED);
}

/** Throws what is wrong with it as a whole. */
function post(here: Visit): Promise<void> | void {
  const { request, reply } = here;
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  if (!accepts.json && !accepts.sse) {
    throw new GatewayError('ACCEPT_REFUSED');
  }
  const inbound = sortInbound(bodyOf(here), request.headers);
  switch (inbound.kind) {
    case 'modern-request':
      return modern(here, inbound.message, inbound.version);
    case 'modern-notification':
      return accepted(reply);
    case 'initialize':
      return initialize(here, inbound.message);
    case 'legacy':
      return legacy(here, inbound.message, sessionOf(here, inbound.sessionId));
    case 'batch':
      return batch(here, inbound.values, sessionOf(here, inbound.sessionId));
    case 'refused':
      return refuse(reply, inbound.error, inbound.id);
  }
}

async function initialize(here: Visit, message: RpcRequest): Promise<void> {
  const { front, reply, standing, principal, entrance } = here;
  (await front.allowance.request(principal))();
  const { introduction, json } = greet(front, standing, message);
  const opened = {
    [HEADERS.session]: front.sessions.create({ ...introduction, principal, entrance: entrance.id }),
  };
  reply.headers(opened);
  const exchange = exchangeFor(here, () => streamFor({ ...here, headers: { ...here.headers, ...opened } }));
  exchange.finish({ status: 200, json });
}

/** A modern request: the client's closing the response cancels it. */
async function modern(here: Visit, message: RpcRequest, version: string): Promise<void> {
  const { front, reply, request, standing } = here;
  const signal = overSignal(reply.raw);
  const about = { message, version, headers: request.headers };
  if (message.method === 'subscriptions/listen') {
    const context = modernContext(front, standing, about, { signal, say: () => false });
    try {
      requireEventStream(request.headers, message.method);
      await serveListen({ front, standing, context }, message, () => streamFor(here));
    } catch (thrown) {
      refuse(reply, toGatewayError(thrown), message.id);
    }
    return;
  }
  const exchange = exchangeFor(here, () => streamFor(here));
  const way = { signal, say: (json: string) => exchange.say(json) };
  exchange.finish(await front.relay.handle(message, modernContext(front, standing, about, way)));
}

/** A message of a session. A connection that breaks cancels nothing: the client takes the stream up again. */
async function legacy(here: Visit, message: RpcMessage, session: Session): Promise<void> {
  const { front, reply } = here;
  if (!('method' in message)) {
    takeAnswer(session, message);
    return accepted(reply);
  }
  if (!('id' in message)) {
    hear(front, message, session, here.log);
    return accepted(reply);
  }
  const exchange = exchangeFor(here, () => resumableFor(here, session));
  const say = (json: string) => exchange.say(json);
  const answered = await answerInSession(front, here.standing, session, message, say);
  exchange.finish(answered.reply);
}

async function batch(here: Visit, values: readonly unknown[], session: Session): Promise<void> {
  const { answers, serve } = batchOf(here.front, here.standing, session, values);
  if (answers === 0) {
    await serve({ say: () => false, answer: () => {} });
    return accepted(here.reply);
  }
  const exchange = exchangeFor(here, () => resumableFor(here, session), { batch: answers });
  await serve({ say: (json) => exchange.say(json), answer: (reply) => exchange.finish(reply) });
}

/** There is nothing to say. */
function accepted(reply: HttpReply): void {
  void reply.code(202).send();
}

function exchangeFor(
  { front, request, reply }: Visit,
  stream: ExchangeOptions['stream'],
  more: Pick<ExchangeOptions, 'batch'> = {},
): Exchange {
  const accepts = acceptedForms(headerOf(request.headers, 'accept'));
  const { openAfter } = front.regime().settings.streams;
  return new Exchange({ reply, unread: front.streams.unread, accepts, stream, openAfter, ...more });
}

function streamFor({ front, reply, headers, log }: Visit): SseStream {
  return openStream(reply, headers, front, log);
}

function resumableFor(here: Visit, session: Session) {
  const stream = replaysOf(session, here.front).open();
  stream.begin(streamFor(here));
  return stream;
}

/** Of a GET or DELETE, which has no body that says what it is; undefined: it named none. */
function namedSession(here: Visit): Session | undefined {
  const { headers } = here.request;
  const id = headerOf(headers, HEADERS.session);
  const fault = id === undefined ? undefined : versionFault(headers);
  if (fault !== undefined) {
    throw fault;
  }
  return id === undefined ? undefined : sessionOf(here, id);
}

function sessionOf(here: Visit, id: string): Session {
  const session = here.front.sessions.open(id, here.principal, here.entrance.id);
  if (session === undefined) {
    throw new GatewayError('SESSION_UNKNOWN');
  }
  return session;
}

/** The stream of a legacy session. Without a session it is refused at once: some clients would wait on it for ever. */
async function get(here: Visit): Promise<void> {
  const { front, request } = here;
  const session = namedSession(here);
  if (session === undefined) {
    return notOffered(here);
  }
  requireEventStream(request.headers);
  return serveGet(front, session, { ...here, lastEvent: headerOf(request.headers, HEADERS.lastEvent) });
}

async function end(here: Visit): Promise<void> {
  const session = namedSession(here);
  if (session === undefined) {
    return notOffered(here);
  }
  endSession(here.front, session);
  void here.reply.code(204).send();
}
