import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Challenge, Refused } from '../access/challenge.ts';
import type { Endpoint } from '../access/resource.ts';
import type { ErrorCode } from '../base/error-table.ts';
import type { Log } from '../base/log.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import type { EndpointRoute } from './entrance.ts';
import type { Standing } from './regime.ts';

/** A document that HEAD asks about as well, as monitors do (RFC 9110, 9.1); no event stream is one. */
export const WITH_HEAD = { exposeHeadRoute: true } as const;

/** What requests and answers have of the server that they are on. */
export interface HttpServer {
  /** An HTTP request is refused as a whole. */
  noteRefusal: (code: ErrorCode) => void;
  /** What somebody is told to do who is not let in there. */
  challengeAt: (endpoint: Endpoint, refused: Refused) => Challenge | undefined;
}

/** One request of a client, in the framework's hands or in our own: see direct.ts. */
export interface HttpRequest {
  readonly raw: IncomingMessage;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderMap;
  readonly log: Log;
  readonly server: HttpServer;
  /** Bytes, where it brought JSON. */
  body: unknown;
  /** CORS headers of the answer, for responses that leave the framework's hands. */
  corsHeaders: Readonly<Record<string, string>>;
  /** What of its body counts among all bodies that are held. */
  heldBytes: number;
  /** Who asks and where, on the routes of clients. */
  standing: Standing;
  /** Where it came in, on the routes that ask for a sign-in. */
  endpoint: Endpoint | undefined;
}

/** The same on a route of clients. */
export interface ClientRequest extends HttpRequest {
  readonly params: EndpointRoute['Params'];
  readonly query: EndpointRoute['Querystring'];
}

/** The answer to it: with a text or without one, or by whoever has taken it over. */
export interface HttpReply {
  readonly raw: ServerResponse;
  readonly request: HttpRequest;
  readonly server: HttpServer;
  code(status: number): HttpReply;
  header(name: string, value: string): HttpReply;
  headers(values: Readonly<Record<string, string>>): HttpReply;
  type(mediaType: string): HttpReply;
  send(text?: string): unknown;
  /** From here on whoever calls this writes to the response by itself. */
  hijack(): unknown;
  getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>;
}
