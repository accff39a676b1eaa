import { LRUCache } from 'lru-cache';
import type { Terms } from './connection.ts';

/** Users for whom it is kept; the one not heard of for longest goes first. */
const MOST = 1_000;
/** Bytes of what a server says of itself, for all users together, in round figures. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Undefined: the server does not let this user in any more. */
export type Share = (grant: string, terms: Terms | undefined) => void;

/**
 * What a server that knows its users said of itself at the handshakes of each of them, by grant: it may be meant for that
 * user. It outlives the connection, since clients greet first and connections that are not used close.
 */
export class Told {
  readonly #share: Share;
  readonly #terms = new LRUCache<string, Terms>({
    max: MOST,
    maxSize: MOST_BYTES,
    sizeCalculation: ({ capabilities, instructions = '' }) =>
      1 + JSON.stringify(capabilities).length + instructions.length,
  });

  /** `share` tells other replicas, where there are any: the next greeting of that user may come to one of them. */
  constructor(share: Share = () => {}) {
    this.#share = share;
  }

  of(grant: string): Terms | undefined {
    return this.#terms.get(grant);
  }

  remember(grant: string, terms: Terms): void {
    this.#terms.set(grant, terms);
    this.#share(grant, terms);
  }

  /** The server does not let this user in any more. */
  forget(grant: string): void {
    this.#terms.delete(grant);
    this.#share(grant, undefined);
  }

  /** The same at another replica. */
  heard(grant: string, terms: Terms | undefined): void {
    if (terms === undefined) {
      this.#terms.delete(grant);
    } else {
      this.#terms.set(grant, terms);
    }
  }
}
