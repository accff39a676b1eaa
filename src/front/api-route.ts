import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { Principal } from '../access/principal.ts';
import { MCP } from '../access/resource.ts';
import { GatewayError } from '../base/errors.ts';
import { withoutCredentials } from '../base/secrets.ts';
import { KINDS, type Kind } from '../protocol/model.ts';
import type { CatalogReport } from '../relay/catalog-report.ts';
import type { Gaze } from '../relay/explain-options.ts';
import type { FrontOptions } from './front.ts';
import { judgeRequest } from './guard.ts';
import { operatorOnly } from './ops-route.ts';
import { notOffered } from './visit.ts';

/** Longest name that is explained: the longest URI that is looked up. */
const LONGEST_NAME = 65_536;
/** Most items of the catalog in one answer. */
const MOST_ITEMS = 10_000;
/** Items are written out in pieces of about this many characters. */
const PIECE = 65_536;

const GAZE = ['as', 'view', 'names', 'kind'] as const;
const OTHERS = ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const satisfies readonly HTTPMethods[];

export const API_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  vary: 'Origin, Authorization, X-API-Key',
} as const;

type Query = Readonly<Record<string, string>>;

interface Answering {
  /** Names of the parameters that it takes. */
  readonly takes: readonly string[];
  readonly answer: (query: Query, reply: FastifyReply) => unknown;
}

/** `/api/…`: what operators may know of a running gateway (docs/api.md). Nobody else is told anything, and no other site. */
export function apiRoutes(server: FastifyInstance, front: FrontOptions): void {
  const { operations } = front;
  const served: Readonly<Record<string, Answering>> = {
    status: { takes: [], answer: () => operations.status() },
    config: { takes: [], answer: () => operations.config() },
    explain: {
      takes: ['name', ...GAZE],
      answer: (query) => operations.explain(nameIn(query), gazeOf(query)),
    },
    catalog: {
      takes: ['from', 'limit', 'definitions', ...GAZE],
      answer: async (query, reply) => {
        const definitions = query['definitions'] === undefined || query['definitions'] === 'true';
        const from = countIn(query, 'from', 0);
        const limit = Math.min(MOST_ITEMS, countIn(query, 'limit', MOST_ITEMS));
        const report = await operations.catalog({ ...gazeOf(query), from, limit, definitions });
        void reply.type('application/json; charset=utf-8');
        return Readable.from(piecesOf(report), { objectMode: false });
      },
    },
  };
  const onRequest = guarded(front);
  for (const [path, { takes, answer }] of Object.entries(served)) {
    const url = `/api/${path}`;
    server.get(url, { onRequest }, async (request, reply) => {
      const answered = await answer(queryOf(request, takes), reply);
      if (answered instanceof Readable) {
        return answered;
      }
      void reply.type('application/json; charset=utf-8');
      // Whatever servers and networks said was scrubbed when it came in; this is the second lock.
      return withoutCredentials(JSON.stringify(answered));
    });
    othersRefused(server, front, url);
  }
}

/** Only GET is served at `url`; who may not ask at all does not learn that. */
export function othersRefused(server: FastifyInstance, front: FrontOptions, url: string): void {
  server.route({
    method: [...OTHERS],
    url,
    onRequest: guarded(front),
    handler: (_, reply) => notOffered({ reply, allow: 'GET, OPTIONS' }),
  });
}

function guarded(front: FrontOptions) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await admitted(front, request, reply);
  };
}

/** Before anything else is looked at: from this very origin, and an operator, which is who it resolves with. */
export async function admitted(
  front: FrontOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Principal> {
  for (const name of Object.keys(request.corsHeaders)) {
    reply.removeHeader(name);
  }
  reply.headers(API_HEADERS);
  const { listen } = front.regime().settings;
  request.endpoint = MCP;
  // Origins that may use the endpoints of clients are none of operators.
  const own = { host: '', port: 0, allowedHosts: ['*'], allowedOrigins: [], publicUrl: listen.publicUrl };
  const { refusal } = judgeRequest(request.headers, own);
  if (refusal !== undefined) {
    throw refusal;
  }
  return operatorOnly(front, request);
}

/** Each parameter once, and only those that mean something: a typing error must not look like an answer. */
function queryOf(request: FastifyRequest, takes: readonly string[]): Query {
  const given = Object.entries(request.query as Readonly<Record<string, unknown>>);
  const read = given.map(([name, value]) => {
    if (!takes.includes(name)) {
      const known = takes.length === 0 ? 'there are none' : `there are ${takes.join(', ')}`;
      throw invalid(`Of parameters ${known}.`);
    }
    if (typeof value !== 'string') {
      throw invalid(`${name} stands there more than once.`);
    }
    return [name, value] as const;
  });
  return Object.fromEntries(read);
}

function nameIn(query: Query): string {
  const name = query['name'];
  if (name === undefined || name === '' || name.length > LONGEST_NAME) {
    throw invalid('name is needed: the name, URI or template to explain.');
  }
  return name;
}

function gazeOf({ as, view, names, kind }: Query): Gaze {
  if (names !== undefined && names !== 'dotted' && names !== 'strict') {
    throw invalid('names is dotted or strict.');
  }
  if (kind !== undefined && !KINDS.includes(kind as Kind)) {
    throw invalid(`kind is one of ${KINDS.join(', ')}.`);
  }
  return { as, view, names, kind: kind as Kind | undefined };
}

function countIn(query: Query, name: string, byDefault: number): number {
  const text = query[name];
  if (text !== undefined && !/^\d{1,9}$/.test(text)) {
    throw invalid(`${name} is a whole number.`);
  }
  return text === undefined ? byDefault : Number(text);
}

function invalid(detail: string): GatewayError {
  return new GatewayError('QUERY_INVALID', { detail });
}

/** One JSON document, one item a line; made while it is read, so that a large catalog takes no memory as a whole. */
function* piecesOf({ items, ...head }: CatalogReport): Generator<string> {
  let piece = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  let before = '\n';
  for (const item of items) {
    piece += before + withoutCredentials(JSON.stringify(item));
    before = ',\n';
    if (piece.length >= PIECE) {
      yield piece;
      piece = '';
    }
  }
  yield `${piece}\n]}\n`;
}
