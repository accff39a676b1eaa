import { pipeline, type Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatewayError } from '../base/errors.ts';
import { Gathered } from '../base/gathered.ts';
import { own } from '../base/json.ts';
import type { Bytes } from '../base/pieces.ts';
import { after } from '../base/time.ts';
import { headerOf } from '../protocol/headers.ts';
import { fromNetwork } from './foreign-errors.ts';
import type { Answer } from './http-exchange.ts';

/** Flushing with each piece lets events through as they come; ending early is judged by whoever reads, not by zlib. */
const ZLIB = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  deflate: () => createInflate(ZLIB),
  br: () => createBrotliDecompress(BROTLI),
};

/** What {@link decodedBody} undoes, for Accept-Encoding; without deflate, which half of the servers get wrong. */
export const ENCODINGS = 'gzip, br';

/** More than two codings one over the other is an attack, not a saving. */
const MOST_CODINGS = 2;

/** The body without its content encodings (RFC 9110, 8.4). Throws UPSTREAM_NOT_MCP for one that is not known. */
export function decodedBody(answer: Answer, upstream: string): Readable {
  const header = headerOf(answer.headers, 'content-encoding') ?? '';
  const codings = header
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const decoders = codings.reverse().map((coding) => own(DECODERS, coding));
  let body = answer.body;
  for (const decoder of decoders) {
    if (decoder === undefined || decoders.length > MOST_CODINGS) {
      answer.body.destroy();
      throw new GatewayError('UPSTREAM_NOT_MCP', {
        upstream,
        logged: `content encoding: ${header.slice(0, 100)}`,
      });
    }
    const decoded = decoder();
    // It fails with whatever failed before it, and whoever reads learns of that by reading.
    decoded.on('error', () => {});
    body = pipeline(body, decoded, () => {});
  }
  return body;
}

/** The whole body. Rejects with UPSTREAM_TOO_LARGE past `maxBytes`, counted decoded: a small body can unpack to a huge one. */
async function readBytes(body: Readable, maxBytes: number, upstream: string): Promise<Buffer> {
  const parts = new Gathered();
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      if (parts.length + part.length > maxBytes) {
        throw new GatewayError('UPSTREAM_TOO_LARGE', { upstream });
      }
      parts.add(part);
    }
  } catch (thrown) {
    throw fromNetwork(thrown, { upstream, sent: true });
  }
  return Buffer.concat(parts.take());
}

/** The same as text. */
export async function readText(body: Readable, maxBytes: number, upstream: string): Promise<string> {
  return (await readBytes(body, maxBytes, upstream)).toString('utf8');
}

/** The same of an answer, its encodings undone; what came without any needs no stream. */
export function readAnswer(answer: Answer, maxBytes: number, upstream: string): Promise<Bytes> {
  return headerOf(answer.headers, 'content-encoding') === undefined
    ? answer.bytes(maxBytes)
    : readBytes(decodedBody(answer, upstream), maxBytes, upstream);
}

/** A refusal's body that trickles in is not waited for. */
const START_MS = 1_000;

/** The start of a body for judging a refusal: never more than `maxBytes`, and never an error. */
export async function readStart(body: Readable, maxBytes: number): Promise<string> {
  const parts = new Gathered();
  const late = after(START_MS, () => body.destroy());
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.add(part);
      if (parts.length >= maxBytes) {
        break;
      }
    }
  } catch {
    // The status has said what matters; what came of the body has to do.
  } finally {
    late();
  }
  return Buffer.concat(parts.take()).toString('utf8', 0, maxBytes);
}

const DRAIN_MS = 1_000;
const DRAIN_BYTES = 65_536;

/** Lets a body nobody needs run out, so that its connection can be used again; cuts it when it is long or slow. */
export function drain(body: Readable): void {
  let length = 0;
  const late = after(DRAIN_MS, () => body.destroy());
  body.once('close', late);
  body.on('data', (part: Buffer) => {
    length += part.length;
    if (length > DRAIN_BYTES) {
      body.destroy();
    }
  });
}
