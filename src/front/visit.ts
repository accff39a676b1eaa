import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { sentCredentials } from '../access/credential.ts';
import type { Principal } from '../access/principal.ts';
import { endpointOf } from '../access/resource.ts';
import { Ender, type EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isBytes } from '../base/pieces.ts';
import { doorOf, type EndpointRoute } from './entrance.ts';
import type { FrontOptions } from './front.ts';
import type { ClientRequest, HttpReply } from './http.ts';
import { parseJson } from './inbound.ts';
import { refuse } from './refusal.ts';
import type { Standing } from './regime.ts';

/** One HTTP request of a client, let in: whose it is and where it came in are known. */
export interface Visit extends Pick<Standing, 'principal' | 'entrance' | 'log'> {
  readonly front: FrontOptions;
  readonly standing: Standing;
  readonly request: ClientRequest;
  readonly reply: HttpReply;
  /** CORS headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The HTTP methods that are served here, as `Allow` names them. */
  readonly allow: string;
}

/** Answers, or takes the response out of the framework's hands, before it is done. */
export type Serve = (here: Visit) => Promise<void> | void;

interface Served {
  readonly POST: Serve;
  readonly GET: Serve;
  readonly DELETE?: Serve;
}

/** The reason of every abort, made once: nobody reads it. */
const GONE = new DOMException('The client has gone.', 'AbortError');

const METHODS = ['POST', 'GET', 'DELETE', 'HEAD', 'PUT', 'PATCH'] as const satisfies readonly HTTPMethods[];

/**
 * The routes of clients at `path` and `path/<name>`. The one door: every request passes sign-in and the entrance here,
 * before its body is read and whatever its method, so that a stranger learns nothing but how to sign in.
 */
export function clientRoutes(
  server: FastifyInstance,
  front: FrontOptions,
  path: string,
  served: Served,
): void {
  const handlers: Partial<Record<HTTPMethods, Serve>> = { ...served };
  const allow = allowOf(served);
  for (const url of [path, `${path}/:name`]) {
    for (const method of METHODS) {
      const serve = handlers[method] ?? notOffered;
      server.route<EndpointRoute>({
        method,
        url,
        onRequest: (request, _reply, done) =>
          letIn(front, path, request, (fault) => (fault === undefined ? done() : done(fault))),
        handler: (request, reply) => visit(serve, front, allow, request, reply),
      });
    }
  }
}

/** As `Allow` names them. */
export function allowOf(served: Partial<Served>): string {
  return [...Object.keys(served), 'OPTIONS'].join(', ');
}

/** Who asks and where: noted at the request before `done`, which gets what is wrong, if it is not thrown. */
export function letIn(
  front: FrontOptions,
  path: string,
  request: ClientRequest,
  done: (fault?: Error) => void,
): void {
  const endpoint = endpointOf(path, request.params.name);
  if (endpoint === undefined) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
  // No closure is kept at the request: with one there, V8 held every request until the next full collection.
  request.endpoint = endpoint;
  const regime = front.regime();
  const admit = (principal: Principal) => {
    request.standing = regime.admit(principal, doorOf(request), request.log);
  };
  // What there is, is not for strangers to know: whatever sign-in refuses comes before ENDPOINT_UNKNOWN.
  const principal = regime.authenticate(sentCredentials(request.raw.rawHeaders), endpoint);
  if (principal instanceof Promise) {
    principal.then(admit).then(() => done(), done);
  } else {
    admit(principal);
    done();
  }
}

/** Serves a request that was let in and is read. */
export async function visit(
  serve: Serve,
  front: FrontOptions,
  allow: string,
  request: ClientRequest,
  reply: HttpReply,
): Promise<void> {
  const { standing, corsHeaders: headers } = request;
  const { principal, entrance, log } = standing;
  try {
    await serve({ standing, principal, entrance, log, front, request, reply, headers, allow });
  } finally {
    front.intake.done(request);
  }
}

/** Answers 405. */
export async function notOffered({ reply, allow }: Pick<Visit, 'reply' | 'allow'>): Promise<void> {
  reply.header('allow', allow);
  refuse(reply, new GatewayError('HTTP_METHOD_REFUSED'));
}

/**
 * The JSON value of a body; throws TYPE_REFUSED where there is none, and as {@link parseJson}. In another encoding than
 * UTF-8 it is refused (2025-11-25: basic/transports): servers would get other words than the client has written.
 */
export function bodyOf({ front, request }: Pick<Visit, 'front' | 'request'>): unknown {
  const { body } = request;
  if (!isBytes(body)) {
    throw new GatewayError('TYPE_REFUSED');
  }
  // Pieces may not be able to tell; then they are joined.
  if (Buffer.isBuffer(body) ? !isUtf8(body) : !body.isUtf8 && !isUtf8(body.joined())) {
    throw new GatewayError('PARSE_FAILED', { detail: 'It is not UTF-8.' });
  }
  return parseJson(body, front.regime().settings.limits.maxBodyBytes);
}

/** Aborts when the connection of a response is over before all of it was said; at once where it is over already. */
export function overSignal(response: ServerResponse): EndSignal {
  const over = new Ender();
  if (response.destroyed) {
    over.abort(GONE);
  }
  response.on('close', () => {
    if (!response.writableFinished) {
      over.abort(GONE);
    }
  });
  return over;
}
