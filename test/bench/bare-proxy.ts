import { createServer, type IncomingHttpHeaders } from 'node:http';
import { Pool } from 'undici';

/**
 * `node bare-proxy.ts PORT URL [--reads]`: a reverse proxy that looks at nothing. What a process of Node has to spend on a
 * request and its answer at least: the floor that the gateway is measured against. With `--reads` it parses both bodies
 * and writes them anew, and nothing else: the floor of whoever has to know what is in them.
 */
const [port = '', url = '', flag] = process.argv.slice(2);
const reads = flag === '--reads';
const target = new URL(url);
const pool = new Pool(target.origin, { connections: 256, pipelining: 1 });
const OF_ONE_HOP = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'expect',
]);

function passed(headers: IncomingHttpHeaders) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_ONE_HOP.has(name)));
}

/** The same JSON, once it was read. */
function anew(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(body.toString())));
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [only, ...more] = chunks;
    const sent = more.length === 0 ? (only ?? null) : Buffer.concat(chunks);
    const body = reads && sent !== null ? anew(sent) : sent;
    const answered: Buffer[] = [];
    const about = { path: target.pathname, method: 'POST', headers: passed(request.headers), body } as const;
    pool.dispatch(about, {
      onRequestStart() {},
      onResponseStart(_controller, status, { connection: _c, 'keep-alive': _k, ...headers }) {
        const { 'content-length': _replaced, ...others } = headers;
        response.writeHead(status, reads ? others : headers);
      },
      onResponseData(_controller, chunk) {
        if (reads) {
          answered.push(chunk);
        } else {
          response.write(chunk);
        }
      },
      onResponseEnd() {
        response.end(reads && answered.length > 0 ? anew(Buffer.concat(answered)) : undefined);
      },
      onResponseError() {
        response.destroy();
      },
    });
  });
});
server.keepAliveTimeout = 0;
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
