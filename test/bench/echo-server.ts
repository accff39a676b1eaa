import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { stringAt, toolDefinitions } from './tools.ts';

/**
 * The server behind every target: it must never be what a run waits for, so it has no SDK, keeps its lists as text, and
 * passes the text of an echo through without decoding it.
 *
 *     node echo-server.ts --port 4000 --tools 20 [--page 10] [--structured]    every path is one server
 *     node echo-server.ts --tools 20                            over stdin and stdout
 */

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const MODERN = '2026-07-28';
const INFO = '{"name":"bench","version":"1.0.0"}';
const COMPLETE = '"resultType":"complete",';
const CACHE = `${COMPLETE}"ttlMs":300000,"cacheScope":"public",`;

interface Answer {
  readonly status: number;
  readonly parts: readonly (string | Buffer)[];
}

const NOTHING: Answer = { status: 202, parts: [] };
const MARK = '"text":"';

/** The members that a page of the list consists of, by its cursor: that is where it begins. */
function pagesOf(tools: number, size: number, structured: boolean): ReadonlyMap<string, string> {
  const all = toolDefinitions(tools, structured);
  const pages = new Map<string, string>();
  for (let from = 0; from < tools; from += size) {
    const next = from + size < tools ? `"nextCursor":"${from + size}",` : '';
    pages.set(
      from === 0 ? '' : String(from),
      `${next}"tools":${JSON.stringify(all.slice(from, from + size))}`,
    );
  }
  return pages;
}

function serverOf(tools: number, page: number, structured: boolean): (raw: Buffer) => Answer {
  const pages = pagesOf(tools, page === 0 ? tools : page, structured);
  const result = (id: unknown, ...text: readonly (string | Buffer)[]): Answer => ({
    status: 200,
    parts: [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{`, ...text, '}}'],
  });
  return (raw) => {
    // The echoed text stays as it came: what is parsed is the message around it.
    const from = raw.indexOf(MARK);
    const to = from === -1 ? -1 : endOfString(raw, from + MARK.length);
    const text = to === -1 ? undefined : raw.subarray(from + MARK.length, to);
    const around =
      text === undefined
        ? raw.toString()
        : raw.toString('utf8', 0, from + MARK.length) + raw.toString('utf8', to);
    const message = JSON.parse(around) as Record<string, unknown>;
    const { id, method, params } = message;
    if (id === undefined) {
      return NOTHING;
    }
    const modern = stringAt(params, '_meta', VERSION_KEY) === MODERN;
    const complete = modern ? COMPLETE : '';
    switch (method) {
      case 'tools/call':
        return result(id, complete, ...echoed(text ?? '', structured));
      case 'tools/list':
        return result(id, modern ? CACHE : '', pages.get(stringAt(params, 'cursor') ?? '') ?? '"tools":[]');
      case 'initialize':
        return result(
          id,
          `"protocolVersion":"${agreed(params)}","capabilities":{"tools":{}},"serverInfo":${INFO}`,
        );
      case 'server/discover':
        return result(
          id,
          `${CACHE}"supportedVersions":${JSON.stringify([MODERN, ...LEGACY])},"capabilities":{"tools":{}},`,
          `"_meta":{"io.modelcontextprotocol/serverInfo":${INFO}}`,
        );
      case 'ping':
        return result(id);
      default:
        return {
          status: 200,
          parts: [
            `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"Method not found"}}`,
          ],
        };
    }
  };
}

function echoed(text: string | Buffer, structured: boolean): readonly (string | Buffer)[] {
  return structured
    ? ['"content":[],"structuredContent":{"text":"', text, '"}']
    : ['"content":[{"type":"text","text":"', text, '"}]'];
}

function agreed(params: unknown): string {
  const wanted = stringAt(params, 'protocolVersion') ?? '';
  return LEGACY.includes(wanted) ? wanted : (LEGACY[0] ?? '');
}

/** Index of the quote that ends a JSON string whose content begins at `from`. */
function endOfString(raw: Buffer, from: number): number {
  for (let at = raw.indexOf('"', from); at !== -1; at = raw.indexOf('"', at + 1)) {
    let slashes = 0;
    while (raw[at - 1 - slashes] === 0x5c) {
      slashes += 1;
    }
    if (slashes % 2 === 0) {
      return at;
    }
  }
  return -1;
}

function overHttp(port: number, answer: (raw: Buffer) => Answer): void {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { status, parts } = answer(Buffer.concat(chunks));
      const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
      response.writeHead(
        status,
        body.length === 0 ? {} : { 'content-type': 'application/json', 'content-length': body.length },
      );
      response.end(body);
    });
  });
  server.keepAliveTimeout = 0; // what keeps a connection is the target's business
  server.listen(port, '127.0.0.1', () => process.stdout.write('ready\n'));
}

function overStdio(answer: (raw: Buffer) => Answer): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { parts } = answer(Buffer.from(line));
    if (parts.length > 0) {
      process.stdout.write(`${parts.join('')}\n`);
    }
  });
}

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    tools: { type: 'string', default: '20' },
    page: { type: 'string', default: '0' },
    structured: { type: 'boolean', default: false },
  },
});
const server = serverOf(Number(values.tools), Number(values.page), values.structured);
if (values.port === undefined) {
  overStdio(server);
} else {
  overHttp(Number(values.port), server);
}
