import type { Catalog } from './snapshot.ts';

/** Walks through our own pages may go on in a superseded catalog this long, and in this many (case C-019). */
const KEPT_FOR_MS = 5 * 60_000;
const KEPT_CATALOGS = 8;

/** A catalog and those that it took the place of. */
export class Editions {
  readonly #now: () => number;
  readonly #paged: () => boolean;
  #current: Catalog;
  #superseded: readonly { readonly catalog: Catalog; readonly at: number }[] = [];

  /** `paged`: lists are served in pages, so somebody may be in the middle of an older one. */
  constructor(first: Catalog, about: { readonly now: () => number; readonly paged: () => boolean }) {
    this.#current = first;
    this.#now = about.now;
    this.#paged = about.paged;
  }

  get current(): Catalog {
    return this.#current;
  }

  /** One of the same revision says the same, so nobody has to go on in the old one. */
  replace(next: Catalog): void {
    const catalog = this.#current;
    this.#current = next;
    if (this.#paged() && catalog.revision !== next.revision) {
      this.#superseded = [{ catalog, at: this.#now() }, ...this.#superseded].slice(0, KEPT_CATALOGS);
    }
  }

  /** The current catalog or a recent one: the last 8, each for 5 minutes after it was superseded. */
  byRevision(revision: string): Catalog | undefined {
    if (this.#current.revision === revision) {
      return this.#current;
    }
    const oldest = this.#now() - KEPT_FOR_MS;
    return this.#superseded.find(({ catalog, at }) => catalog.revision === revision && at >= oldest)?.catalog;
  }
}
