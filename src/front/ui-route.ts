import { gunzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import { headerOf } from '../protocol/headers.ts';
import type { FrontOptions } from './front.ts';
import { loadPage, type PageFile, type PageFiles } from './page.ts';
import { notOffered } from './visit.ts';

/** Nothing but its own files, its own gateway, and pictures that are in the text of a result. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  // Text can become neither markup nor script, whatever the page itself does wrong.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  vary: 'Accept-Encoding',
} as const;

/** For files whose name tells their content, and for the one whose name does not. */
const KEPT = 'public, max-age=31536000, immutable';
const ASKED = 'no-cache';

const OTHERS = ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const satisfies readonly HTTPMethods[];

/** `/ui/`: the operator page. Its files are the same for everybody; whatever it shows comes from `/api`, with its guard. */
export function uiRoutes(server: FastifyInstance, { regime }: FrontOptions): void {
  if (!regime().settings.ui.enabled) {
    return;
  }
  for (const url of ['/ui', '/ui/:file']) {
    server.get<{ Params: { file?: string } }>(url, async (request, reply) => {
      for (const name of Object.keys(request.corsHeaders)) {
        reply.removeHeader(name);
      }
      const [path = ''] = request.url.split('?');
      if (path.endsWith('/ui')) {
        // Its files are beside it, and so is the gateway, whatever a proxy has put before the path.
        return reply.code(308).header('location', 'ui/').send();
      }
      return sendFile(request, reply, await fileNamed(request.params.file ?? ''));
    });
    server.route({
      method: [...OTHERS],
      url,
      handler: (_, reply) => notOffered({ reply, allow: 'GET, OPTIONS' }),
    });
  }
}

async function fileNamed(name: string): Promise<PageFile> {
  let files: PageFiles;
  try {
    files = await loadPage();
  } catch (thrown) {
    throw new GatewayError('ENDPOINT_UNKNOWN', { logged: 'the page was not built', cause: thrown });
  }
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) {
    throw new GatewayError('ENDPOINT_UNKNOWN');
  }
  return file;
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const etag = file.digest === undefined ? undefined : `"${file.digest}"`;
  void reply.headers({ ...HEADERS, 'cache-control': etag === undefined ? KEPT : ASKED });
  if (etag !== undefined) {
    void reply.header('etag', etag);
    if (headerOf(request.headers, 'if-none-match') === etag) {
      return reply.code(304).send();
    }
  }
  const bytes = Buffer.from(file.gzip, 'base64');
  void reply.type(file.type);
  return /\bgzip\b/.test(headerOf(request.headers, 'accept-encoding') ?? '')
    ? reply.header('content-encoding', 'gzip').send(bytes)
    : reply.send(gunzipSync(bytes));
}
