import fc from 'fast-check';
import { Pool } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { readText } from '../../../src/upstream/http-body.ts';
import { type Answer, exchange } from '../../../src/upstream/http-exchange.ts';
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
