import type { Kind } from '../protocol/model.ts';
import type { ListPart, UpstreamPart } from './part.ts';
import { Reader, type ReaderOptions } from './reader.ts';

export interface ReadersEvents {
  /** These lists are to be read again. */
  readonly again: (upstream: string, kinds: readonly Kind[]) => void;
  /** What one of them keeps is another now. */
  readonly changed: () => void;
}

/** The lists that the gateway reads by itself, by upstream. */
export class Readers {
  readonly #options: ReaderOptions;
  readonly #events: ReadersEvents;
  readonly #known = new Map<string, Reader>();

  constructor(options: ReaderOptions, events: ReadersEvents) {
    this.#options = options;
    this.#events = events;
  }

  find(upstream: string): Reader | undefined {
    return this.#known.get(upstream);
  }

  of(upstream: string): Reader {
    const known = this.#known.get(upstream);
    if (known !== undefined) {
      return known;
    }
    const { again, changed } = this.#events;
    const reader = new Reader(upstream, this.#options, (kinds) => again(upstream, kinds), changed);
    this.#known.set(upstream, reader);
    return reader;
  }

  part(upstream: string, namespace: string): UpstreamPart | undefined {
    return this.#known.get(upstream)?.part(namespace);
  }

  /** Reads under way end, and what was read is gone. */
  end(upstream: string): void {
    this.#known.get(upstream)?.end();
    this.#known.delete(upstream);
  }

  /** The same upstream, but another server: with lists that were read from that one, in the place of all others. */
  replace(upstream: string, lists: ReadonlyMap<Kind, ListPart | undefined>): void {
    this.end(upstream);
    this.of(upstream).seed(lists);
  }

  close(): void {
    for (const reader of this.#known.values()) {
      reader.end();
    }
  }
}
