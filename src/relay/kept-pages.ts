import { LRUCache } from 'lru-cache';

/** All of them together; for what was asked for lately, one makes room for another. */
const MOST_BYTES = 16 * 1_048_576;
/** ms; then it is made again, so that nothing is held for long that nobody asks for any more. */
const KEPT_MS = 60_000;

/** Pages of lists as the bytes that are sent: to put hundreds of texts together and to encode them costs more than the rest. */
export class KeptPages {
  readonly #pages = new LRUCache<string, Buffer>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ length }) => Math.max(1, length),
    ttl: KEPT_MS,
    ttlAutopurge: true,
  });
  readonly #numbers = new WeakMap<readonly string[], number>();
  #last = 0;

  /** JSON texts from one place to before another, with commas, in UTF-8. The array must not change. */
  of(texts: readonly string[], from: number, to: number): Buffer {
    const key = `${this.#numberOf(texts)} ${from} ${to}`;
    let page = this.#pages.get(key);
    if (page === undefined) {
      page = Buffer.from(texts.slice(from, to).join(','));
      this.#pages.set(key, page);
    }
    return page;
  }

  #numberOf(texts: readonly string[]): number {
    let number = this.#numbers.get(texts);
    if (number === undefined) {
      this.#last += 1;
      number = this.#last;
      this.#numbers.set(texts, number);
    }
    return number;
  }
}
