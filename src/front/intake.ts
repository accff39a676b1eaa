import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';

/** When a client that was sent away for want of room may come again, in ms. */
const RETRY_MS = 1_000;

/**
 * Bodies of requests: each bounded, and bounded together from their first byte until they were answered, since each
 * connection brings one and nobody bounds connections.
 */
export class Intake {
  readonly #limits: () => Settings['limits'];
  readonly #held = new WeakMap<FastifyRequest, number>();
  #bytes = 0;

  /** `limits` is asked whenever a body comes in. */
  constructor(limits: () => Settings['limits']) {
    this.#limits = limits;
  }

  /**
   * The body of a request as bytes; they count until {@link done}. Rejects with BODY_TOO_LARGE, BODIES_FULL where all
   * together would be too many, TYPE_REFUSED for a body in a content encoding, which could unpack to anything.
   */
  async read(request: FastifyRequest, body: Readable): Promise<Buffer> {
    const { maxBodyBytes, bodiesBytes } = this.#limits();
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding !== 'identity') {
      throw new GatewayError('TYPE_REFUSED', { detail: 'Content encodings are not taken.' });
    }
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
      throw new GatewayError('BODY_TOO_LARGE');
    }
    const parts: Buffer[] = [];
    let length = 0;
    try {
      // A body that is not read to its end must not take the connection with it before the refusal is said.
      for await (const part of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        length += part.length;
        this.#add(request, part.length);
        if (length > maxBodyBytes) {
          throw new GatewayError('BODY_TOO_LARGE');
        }
        if (this.#bytes > Math.max(bodiesBytes, maxBodyBytes)) {
          throw new GatewayError('BODIES_FULL', { data: { retryAfterMs: RETRY_MS } });
        }
        parts.push(part);
      }
      return Buffer.concat(parts, length);
    } catch (thrown) {
      this.done(request);
      throw thrown;
    }
  }

  /** The request was served: what its body brought is nobody's any more. Idempotent. */
  done(request: FastifyRequest): void {
    this.#bytes -= this.#held.get(request) ?? 0;
    this.#held.delete(request);
  }

  #add(request: FastifyRequest, bytes: number): void {
    this.#bytes += bytes;
    this.#held.set(request, (this.#held.get(request) ?? 0) + bytes);
  }
}
