import type { IncomingMessage } from 'node:http';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { challengeOf } from '../access/challenge.ts';
import { metadataUrl } from '../access/resource.ts';
import type { ErrorCode } from '../base/error-table.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import { sentValues } from '../protocol/headers.ts';
import { apiRoutes } from './api-route.ts';
import { boundConnections } from './connections.ts';
import { Direct } from './direct.ts';
import { eventsRoute } from './events-route.ts';
import type { FrontOptions } from './front.ts';
import { type GuardRule, judgeRequest, preflightHeaders, type Verdict } from './guard.ts';
import type { HttpReply, HttpRequest, HttpServer } from './http.ts';
import { malformedHttp, undecodablePath } from './malformed.ts';
import { mcpRoutes, POSTED } from './mcp-route.ts';
import { metadataRoutes } from './metadata-route.ts';
import { metricsRoute } from './metrics-route.ts';
import { opsRoutes } from './ops-route.ts';
import { refuse } from './refusal.ts';
import { RequestLog, requestIds } from './request-log.ts';
import { sse2024Routes } from './sse-2024-route.ts';
import { uiRoutes } from './ui-route.ts';

declare module 'fastify' {
  interface FastifyInstance extends HttpServer {}
  interface FastifyRequest {
    corsHeaders: HttpRequest['corsHeaders'];
    heldBytes: HttpRequest['heldBytes'];
    standing: HttpRequest['standing'];
    endpoint: HttpRequest['endpoint'];
  }
}

/** Idle keep-alive connections live longer than those of usual proxies, so that the proxy closes first (ms). */
const KEEP_ALIVE_MS = 75_000;

/** Room for the longest credential that is looked at, and for everything else. Node answers 431 beyond it. */
const HEADER_BYTES = 32_768;

/** Longest time for the headers of a request, and how often requests are looked at that take too long, in ms. */
const HEADERS_MS = 30_000;
const CHECK_MS = 5_000;

/** Refusals before the body was read: what is left of it is not read either. */
const UNREAD: ReadonlySet<ErrorCode> = new Set(['BODY_TOO_LARGE', 'BODIES_FULL', 'TYPE_REFUSED']);

/** How often connections that have become idle are closed while the server closes, in ms. */
const SWEEP_MS = 25;

export interface Front {
  /** Binds the configured address and resolves with the port it listens on. Rejects when the port is taken. */
  listen(): Promise<number>;
  /** Stops accepting, ends every stream gracefully, waits for answers under way. Idempotent. */
  close(): Promise<void>;
  /** Ends whatever connections are left, busy or not. */
  cut(): void;
}

export function createFront(front: FrontOptions): Front {
  const { log } = front;
  const { settings } = front.regime();
  const nextId = requestIds();
  const server = Fastify({
    genReqId: nextId,
    loggerInstance: log,
    childLoggerFactory: (parent, bindings, options) => new RequestLog(() => parent.child(bindings, options)),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: settings.limits.maxBodyBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: settings.limits.bodyTimeout,
    http: {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, settings.limits.bodyTimeout),
      connectionsCheckingInterval: Math.min(CHECK_MS, settings.limits.bodyTimeout),
    },
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
    clientErrorHandler: malformedHttp(front),
    frameworkErrors: (thrown, _request, reply) => undecodablePath(thrown, reply),
  });
  boundConnections(server.server, settings.limits.connections, log, () => front.metrics?.traffic.drop());
  const guard = new Guard(settings.listen);
  decorate(server, front);
  server.removeAllContentTypeParsers();
  // The body stays bytes: errors in it are JSON-RPC errors, not the framework's, and no key of it is filtered.
  server.addContentTypeParser('application/json', (request: FastifyRequest, body: IncomingMessage, done) =>
    front.intake.read(request, body, done),
  );
  const guarded = (request: HttpRequest, reply: HttpReply) =>
    passes(request, reply, guard.under(front.regime().settings.listen));
  server.addHook('onRequest', (request: HttpRequest, reply: HttpReply, done) => {
    if (guarded(request, reply)) {
      done();
    }
  });
  server.setErrorHandler<FastifyError>((thrown, _request, reply) => failed(thrown, reply));
  server.setNotFoundHandler((_request, reply) => refuse(reply, new GatewayError('ENDPOINT_UNKNOWN')));
  routes(server, front);
  const direct = new Direct({ ...POSTED, front, server, nextId, passes: guarded, failed });
  const closing = besideFramework(server, direct);
  return {
    async listen() {
      const { host, port } = settings.listen;
      await server.listen({ host, port });
      const address = server.server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      guard.listensOn(bound);
      return bound;
    },
    async close() {
      closing();
      const closed = server.close();
      front.streams.endAll();
      // A connection that is busy now becomes idle with its answer, and would then stay for its keep-alive time.
      const sweeping = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS);
      await closed.finally(() => clearInterval(sweeping));
    },
    cut: () => server.server.closeAllConnections(),
  };
}

function routes(server: FastifyInstance, front: FrontOptions): void {
  mcpRoutes(server, front);
  sse2024Routes(server, front);
  metadataRoutes(server, front);
  opsRoutes(server, front);
  metricsRoute(server, front);
  apiRoutes(server, front);
  eventsRoute(server, front);
  uiRoutes(server, front);
}

/**
 * Requests go to `direct` first, and to the framework where it leaves them alone; all of them to the framework from the
 * call of the returned function on, since it tells clients that keep their connections that the server closes.
 */
function besideFramework({ server }: FastifyInstance, direct: Direct): () => void {
  let isClosing = false;
  const [framework] = server.listeners('request');
  server.removeAllListeners('request').on('request', (request, response) => {
    if (isClosing || !direct.take(request, response)) {
      framework?.call(server, request, response);
    }
  });
  return () => {
    isClosing = true;
  };
}

function decorate(server: FastifyInstance, front: FrontOptions): void {
  server.decorate('noteRefusal', (code) => front.metrics?.refused(code));
  server.decorate('challengeAt', (endpoint, refused) =>
    challengeOf(refused, front.regime().settings.auth, metadataUrl(front.base(), endpoint)),
  );
  server.decorateRequest('corsHeaders');
  server.decorateRequest('standing');
  server.decorateRequest('heldBytes', 0);
  server.decorateRequest('endpoint');
}

type Listen = Settings['listen'];

const PASSES: Verdict = { refusal: undefined, headers: {} };

/** The rule of the guard, made anew only where another configuration holds. */
class Guard {
  #of: Listen;
  #rule: GuardRule;
  /** The last Host that it let pass: most requests bring the same one. */
  #passed: string | undefined;

  constructor(listen: Listen) {
    this.#of = listen;
    this.#rule = guardRule(listen, listen.port);
  }

  /** The port that was bound, whatever the configuration says. */
  listensOn(port: number): void {
    this.#rule = guardRule(this.#of, port);
    this.#passed = undefined;
  }

  /** The guard that holds under this configuration. */
  under(listen: Listen): this {
    if (listen !== this.#of) {
      this.#of = listen;
      this.#rule = guardRule(listen, this.#rule.port);
      this.#passed = undefined;
    }
    return this;
  }

  judge({ headers, rawHeaders }: IncomingMessage): Verdict {
    // Node takes the first of several Host headers; a proxy before it may have taken another (RFC 9112, 3.2).
    if (sentValues(rawHeaders, 'host').length > 1) {
      return judgeRequest({ ...headers, host: undefined }, this.#rule);
    }
    const { host, origin } = headers;
    if (origin === undefined && host !== undefined && host === this.#passed) {
      return PASSES;
    }
    const verdict = judgeRequest(headers, this.#rule);
    if (verdict.refusal === undefined) {
      this.#passed = host;
    }
    return verdict;
  }
}

function guardRule({ publicUrl, ...listen }: Listen, port: number): GuardRule {
  return { ...listen, publicUrl, port };
}

/** Host and Origin first, then preflight, before any work and before sign-in. False: it is answered. */
function passes(request: HttpRequest, reply: HttpReply, guard: Guard): boolean {
  const { refusal, headers } = guard.judge(request.raw);
  request.corsHeaders = headers;
  reply.headers(headers);
  if (refusal !== undefined) {
    refuse(reply, refusal);
    return false;
  }
  if (request.method === 'OPTIONS') {
    void reply
      .code(204)
      .headers(preflightHeaders(request.headers))
      .header('allow', 'POST, GET, DELETE, OPTIONS')
      .send();
    return false;
  }
  return true;
}

function failed(thrown: unknown, reply: HttpReply): void {
  const error = fromFastify(thrown);
  if (UNREAD.has(error.code)) {
    reply.header('connection', 'close');
  }
  refuse(reply, error);
}

/** The framework's own refusals, translated once. */
function fromFastify(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError || !isFastifyError(thrown)) {
    return toGatewayError(thrown);
  }
  switch (thrown.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new GatewayError('BODY_TOO_LARGE', { cause: thrown });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_TYPE':
      return new GatewayError('TYPE_REFUSED', { cause: thrown });
    default:
      return thrown.statusCode !== undefined && thrown.statusCode < 500
        ? new GatewayError('REQUEST_INVALID', { cause: thrown })
        : toGatewayError(thrown);
  }
}

function isFastifyError(thrown: unknown): thrown is FastifyError {
  return thrown instanceof Error && 'code' in thrown;
}
