import type { Readable } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import { Gathered } from '../base/gathered.ts';
import { type Bytes, bytesOf } from '../base/pieces.ts';
import type { Settings } from '../config/settings.ts';
import type { HttpRequest } from './http.ts';

type Holding = Pick<HttpRequest, 'headers' | 'heldBytes'>;

/** When a client that was sent away for want of room may come again, in ms. */
const RETRY_MS = 1_000;

type Taken = (fault: Error | null, bytes?: Bytes) => void;

/**
 * Bodies of requests: each bounded, and bounded together from their first byte until they were answered, since each
 * connection brings one and nobody bounds connections.
 */
export class Intake {
  readonly #limits: () => Settings['limits'];
  #bytes = 0;

  /** `limits` is asked whenever a body comes in. */
  constructor(limits: () => Settings['limits']) {
    this.#limits = limits;
  }

  /**
   * Hands over the body of a request as bytes; they count until {@link done}. Fails with BODY_TOO_LARGE, BODIES_FULL where
   * all together would be too many, TYPE_REFUSED for a body in a content encoding, which could unpack to anything.
   */
  read(request: Holding, body: Readable, taken: Taken): void {
    const refusal = this.#refusal(request);
    if (refusal !== undefined) {
      taken(refusal);
      return;
    }
    const parts = new Gathered();
    let over = false;
    const settle = (fault: Error | null, bytes?: Bytes) => {
      over = true;
      if (fault !== null) {
        this.done(request);
      }
      taken(fault, bytes);
    };
    const broken = () => {
      if (!over) {
        // Nobody reads the answer, and it was no fault of the gateway.
        settle(new GatewayError('CANCELLED', { cause: body.errored, logged: 'its body broke off' }));
      }
    };
    body.on('data', (part: Buffer) => {
      const excess = over ? undefined : this.#add(request, part.length);
      if (excess !== undefined) {
        // A body that is not read to its end must not take the connection with it before the refusal is said.
        body.pause();
        settle(excess);
      } else if (!over) {
        parts.add(part);
      }
    });
    body.on('end', () => {
      if (!over) {
        settle(null, bytesOf(parts.take()));
      }
    });
    body.on('error', broken);
    body.on('close', broken);
    if (body.destroyed) {
      broken();
    }
  }

  #refusal({ headers }: Holding): GatewayError | undefined {
    const coding = headers['content-encoding'];
    if (coding !== undefined && coding !== 'identity') {
      return new GatewayError('TYPE_REFUSED', { detail: 'Content encodings are not taken.' });
    }
    return Number(headers['content-length'] ?? 0) > this.#limits().maxBodyBytes
      ? new GatewayError('BODY_TOO_LARGE')
      : undefined;
  }

  /** The request was served: what its body brought is nobody's any more. Idempotent. */
  done(request: Holding): void {
    this.#bytes -= request.heldBytes;
    request.heldBytes = 0;
  }

  /** Counts bytes that came in; returns why they are too many, where they are. */
  #add(request: Holding, bytes: number): GatewayError | undefined {
    const { maxBodyBytes, bodiesBytes } = this.#limits();
    this.#bytes += bytes;
    request.heldBytes += bytes;
    if (request.heldBytes > maxBodyBytes) {
      return new GatewayError('BODY_TOO_LARGE');
    }
    return this.#bytes > Math.max(bodiesBytes, maxBodyBytes)
      ? new GatewayError('BODIES_FULL', { data: { retryAfterMs: RETRY_MS } })
      : undefined;
  }
}
