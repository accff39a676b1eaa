import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { Pool } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ender } from '../../../src/base/ender.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { JsonParts } from '../../../src/base/long-text.ts';
import { readText } from '../../../src/upstream/http-body.ts';
import { type Answer, type Ask, exchange } from '../../../src/upstream/http-exchange.ts';
import { startSocketPeer } from './transport-kit.ts';

const MOST = 200_000;

/** A server that writes these parts as one body, and may close the connection before its end. */
async function bodyOf(
  written = () => {},
): Promise<(parts: readonly Buffer[], cut: boolean) => Promise<Answer>> {
  let parts: readonly Buffer[] = [];
  let cut = false;
  const { url } = await startSocketPeer((socket) => {
    socket.on('data', () => {
      const length = parts.reduce((sum, part) => sum + part.length, cut ? 1 : 0);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`);
      const [next, ...rest] = parts;
      socket.write(next ?? Buffer.alloc(0));
      // Each in a turn of its own, so that it comes as a piece of its own.
      const more = () => {
        const part = rest.shift();
        if (part !== undefined) {
          socket.write(part);
          setImmediate(more);
        } else if (cut) {
          socket.end();
        } else {
          written();
        }
      };
      setImmediate(more);
    });
  });
  const pool = new Pool(new URL(url).origin);
  onTestFinished(() => pool.destroy());
  return (sent, ends) => {
    parts = sent;
    cut = ends;
    const { signal } = new AbortController();
    return exchange(pool, { upstream: 'up', url: new URL(url), method: 'POST', headers: {}, signal });
  };
}

const outcome = (work: Promise<string>) =>
  work.catch((thrown: unknown) => (thrown instanceof GatewayError ? thrown.code : thrown));

describe('the whole body of an answer', () => {
  it('is what reading its stream gives, or fails like it: broken off, or past the bound', async () => {
    const get = await bodyOf();
    const size = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 500 }) },
      fc.integer({ min: 40_000, max: 120_000 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 6 }), fc.boolean(), async (sizes, cut) => {
        const parts = sizes.map((length, at) => Buffer.alloc(length, 97 + at));
        const streamed = await outcome(readText((await get(parts, cut)).body, MOST, 'up'));
        const whole = await outcome((await get(parts, cut)).bytes(MOST).then(String));
        expect(whole).toBe(streamed);
        const length = sizes.reduce((sum, each) => sum + each, 0);
        if (length > MOST) {
          expect(whole).toBe('UPSTREAM_TOO_LARGE');
        } else {
          expect(whole).toBe(cut ? 'UPSTREAM_LOST' : Buffer.concat(parts).toString());
        }
      }),
      { numRuns: 60 },
    );
  });

  it('comes whole also where nobody reads it until all of it was written', async () => {
    let allWritten = () => {};
    const get = await bodyOf(() => allWritten());
    const parts = Array.from({ length: 4 }, () => Buffer.alloc(45_000, 98));
    for (const read of [
      (answer: Answer) => answer.bytes(MOST).then(String),
      (answer: Answer) => readText(answer.body, MOST, 'up'),
    ]) {
      const written = new Promise<void>((resolve) => {
        allWritten = resolve;
      });
      const answer = await get(parts, false);
      await written;
      expect(await read(answer)).toHaveLength(180_000);
    }
  });
});

describe('a body in parts', () => {
  const long = 'größe "M"\n'.repeat(40_000);
  /** As a call with a long text is written: a text, pieces of bytes, a text. */
  function parts(text: string): JsonParts {
    const bytes = Buffer.from(JSON.stringify(text));
    const pieces = Array.from({ length: Math.ceil(bytes.length / 60_001) }, (_, at) =>
      bytes.subarray(at * 60_001, (at + 1) * 60_001),
    );
    return new JsonParts(['{"größe":', ...pieces, '}']);
  }

  /** A server, and how to post such a body to it. */
  async function serverThat(serves: RequestListener) {
    const server = createServer(serves);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = new URL(`http://127.0.0.1:${port}/`);
    const pool = new Pool(url.origin, { connections: 1 });
    onTestFinished(async () => {
      await pool.destroy();
      server.closeAllConnections();
      server.close();
    });
    return (body: JsonParts, more: Partial<Ask> = {}) =>
      exchange(pool, {
        upstream: 'up',
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        signal: new Ender(),
        body,
        ...more,
      });
  }

  it.each(['short', 'x'.repeat(130_000), long])('arrives as one, with its length', async (text) => {
    const heads: IncomingHttpHeaders[] = [];
    const post = await serverThat((request, response) => {
      heads.push(request.headers);
      request.pipe(response);
    });
    for (const _again of [1, 2]) {
      let sent = 0;
      const answer = await post(parts(text), { onSent: () => (sent += 1) });
      expect(sent).toBe(1);
      const echoed = await readText(answer.body, 2_000_000, 'up');
      expect(echoed).toBe(JSON.stringify({ größe: text }));
      expect(heads.at(-1)).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(echoed)),
      });
      expect(heads.at(-1)).not.toHaveProperty('transfer-encoding');
    }
  });

  it('does not keep an answer away that comes before all of it was read', async () => {
    const post = await serverThat((request, response) => {
      response.writeHead(413, { connection: 'close' }).end('too much');
      response.once('finish', () => request.destroy());
    });
    // Larger than what sockets hold, so that some of it is still to be written.
    const answered = await post(parts(long.repeat(100))).then(
      ({ status }) => status,
      (thrown: unknown) => (thrown as GatewayError).code,
    );
    expect([413, 'UPSTREAM_LOST']).toContain(answered);
  });

  it('ends when its exchange is told to, while it is written, and the next one goes through', async () => {
    let calls = 0;
    const ender = new Ender();
    const post = await serverThat((request, response) => {
      calls += 1;
      if (calls === 1) {
        request.once('data', () => {
          request.pause();
          ender.abort(new GatewayError('CANCELLED'));
        });
      } else {
        request.pipe(response);
      }
    });
    await expect(post(parts(long.repeat(100)), { signal: ender })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    const answer = await post(parts(long));
    expect(await readText(answer.body, 2_000_000, 'up')).toBe(JSON.stringify({ größe: long }));
  });
});
