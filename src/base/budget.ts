import { LRUCache } from 'lru-cache';

/**
 * So many bytes for what can be had again. Whoever keeps something says how large it is and how to let go of it; what
 * was used longest ago has to go first.
 */
export class Budget<Key extends string> {
  readonly #bytes: number;
  readonly #held: LRUCache<Key, { readonly bytes: number; readonly drop: () => void }>;

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#held = new LRUCache({
      maxSize: Math.max(1, bytes),
      sizeCalculation: (held) => held.bytes,
      dispose: (held, _key, why) => {
        if (why === 'evict') {
          held.drop();
        }
      },
    });
  }

  /** Bytes in use. */
  get used(): number {
    return this.#held.calculatedSize;
  }

  /** Counts it, in the place of what was counted under this key. `drop` may be called at once: it may be too large. */
  hold(key: Key, bytes: number, drop: () => void): void {
    const size = Math.max(1, Math.ceil(bytes));
    if (size > this.#bytes) {
      this.#held.delete(key);
      drop();
    } else {
      this.#held.set(key, { bytes: size, drop });
    }
  }

  /** It was used just now. */
  touch(key: Key): void {
    this.#held.get(key);
  }

  /** It is gone: `drop` is not called. */
  release(key: Key): void {
    this.#held.delete(key);
  }
}
