import type { IncomingMessage, ServerResponse } from 'node:http';
import { endpointOf } from '../access/resource.ts';
import type { EndpointRoute } from './entrance.ts';
import type { FrontOptions } from './front.ts';
import type { ClientRequest, HttpReply, HttpRequest, HttpServer } from './http.ts';
import type { Standing } from './regime.ts';
import { RequestLog } from './request-log.ts';
import { letIn, type Serve, visit } from './visit.ts';

export interface DirectOptions {
  readonly front: FrontOptions;
  readonly server: HttpServer;
  readonly path: string;
  readonly serve: Serve;
  /** HTTP methods that are served there, as `Allow` names them. */
  readonly allow: string;
  readonly nextId: () => string;
  /** Host, Origin and preflight. False: it is answered. */
  readonly passes: (request: HttpRequest, reply: HttpReply) => boolean;
  /** Answers what failed. */
  readonly failed: (thrown: unknown, reply: HttpReply) => void;
}

/** A length that says that there is a body. */
const SOME = /^[1-9]\d{0,15}$/;

/**
 * The ordinary POST of a client without the framework, which takes an eighth of what such a call costs here and adds nothing
 * to it: the same guard, door, body and handler in the same order, to the same answer byte for byte. Whatever is out of
 * the ordinary is left to the framework.
 */
export class Direct {
  readonly #options: DirectOptions;

  constructor(options: DirectOptions) {
    this.#options = options;
  }

  /** Serves the request, or leaves it alone and returns false. */
  take(raw: IncomingMessage, response: ServerResponse): boolean {
    const params = isOrdinary(raw) ? this.#paramsOf(raw.url) : undefined;
    if (params === undefined) {
      return false;
    }
    const { front, server, nextId, passes } = this.#options;
    const request = new DirectRequest(raw, params, server, logOf(front.log, nextId()));
    const reply = new DirectReply(response, request);
    try {
      if (passes(request, reply)) {
        letIn(front, this.#options.path, request, (fault) => {
          if (fault === undefined) {
            this.#read(request, reply);
          } else {
            this.#failed(fault, reply);
          }
        });
      }
    } catch (thrown) {
      this.#failed(thrown, reply);
    }
    return true;
  }

  /** Undefined where the URL is not one that needs no reading. */
  #paramsOf(url = ''): EndpointRoute['Params'] | undefined {
    const { path } = this.#options;
    if (url === path) {
      return {};
    }
    const name = url.startsWith(`${path}/`) ? url.slice(path.length + 1) : '';
    return name !== '' && endpointOf(path, name) !== undefined ? { name } : undefined;
  }

  #read(request: ClientRequest, reply: DirectReply): void {
    const { front, serve, allow } = this.#options;
    front.intake.read(request, request.raw, (fault, body) => {
      if (fault !== null) {
        this.#failed(fault, reply);
        return;
      }
      request.body = body;
      visit(serve, front, allow, request, reply).then(
        () => reply.sent || reply.send(),
        (thrown: unknown) => this.#failed(thrown, reply),
      );
    });
  }

  #failed(thrown: unknown, reply: DirectReply): void {
    const { log } = reply.request;
    if (reply.sent) {
      log.error({ err: thrown }, 'a request failed after it was answered');
      return;
    }
    try {
      this.#options.failed(thrown, reply);
    } catch (fault) {
      log.error({ err: fault }, 'a refusal could not be written');
      reply.raw.destroy();
    }
  }
}

/** By itself, so that it holds nothing else: what is kept at a request must lead to no other part of it. */
function logOf(log: FrontOptions['log'], reqId: string): RequestLog {
  return new RequestLog(() => log.child({ reqId }));
}

function isOrdinary({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    SOME.test(headers['content-length'] ?? '') &&
    headers['transfer-encoding'] === undefined
  );
}

const NO_QUERY: EndpointRoute['Querystring'] = {};
const NO_HEADERS: HttpRequest['corsHeaders'] = {};

class DirectRequest implements ClientRequest {
  readonly raw: IncomingMessage;
  readonly params: EndpointRoute['Params'];
  readonly query = NO_QUERY;
  readonly log: RequestLog;
  readonly server: HttpServer;
  readonly headers: IncomingMessage['headers'];
  body: unknown = undefined;
  corsHeaders = NO_HEADERS;
  heldBytes = 0;
  endpoint: HttpRequest['endpoint'] = undefined;
  #standing: Standing | undefined;

  constructor(raw: IncomingMessage, params: EndpointRoute['Params'], server: HttpServer, log: RequestLog) {
    this.raw = raw;
    this.params = params;
    this.server = server;
    this.log = log;
    this.headers = raw.headers;
  }

  get method(): string {
    return 'POST';
  }

  get url(): string {
    return this.raw.url ?? '';
  }

  get standing(): Standing {
    if (this.#standing === undefined) {
      throw new Error('the request was not let in');
    }
    return this.#standing;
  }

  set standing(standing: Standing) {
    this.#standing = standing;
  }
}

class DirectReply implements HttpReply {
  readonly raw: ServerResponse;
  readonly request: DirectRequest;
  readonly #headers: Record<string, string> = {};
  sent = false;

  constructor(raw: ServerResponse, request: DirectRequest) {
    this.raw = raw;
    this.request = request;
  }

  get server(): HttpServer {
    return this.request.server;
  }

  code(status: number): this {
    this.raw.statusCode = status;
    return this;
  }

  header(name: string, value: string): this {
    this.#headers[name.toLowerCase()] = value;
    return this;
  }

  headers(values: Readonly<Record<string, string>>): this {
    for (const name of Object.keys(values)) {
      this.header(name, values[name] ?? '');
    }
    return this;
  }

  type(mediaType: string): this {
    return this.header('content-type', mediaType);
  }

  send(text?: string): this {
    this.sent = true;
    const { 'content-type': mediaType = '' } = this.#headers;
    if (text !== undefined && !mediaType.includes('charset')) {
      this.type(`${mediaType}; charset=utf-8`);
    }
    this.header('content-length', String(text === undefined ? 0 : Buffer.byteLength(text)));
    this.raw.writeHead(this.raw.statusCode, this.#headers);
    this.raw.end(text);
    return this;
  }

  hijack(): this {
    this.sent = true;
    return this;
  }

  getHeaders(): Readonly<Record<string, string>> {
    return this.#headers;
  }
}
