import { createHash } from 'node:crypto';
import { costOf } from '../base/cost.ts';
import type { Item } from '../protocol/model.ts';
import { KINDS } from '../protocol/model.ts';
import type { NamingRule } from './naming.ts';
import type { UpstreamPart } from './part.ts';
import { buildCatalog, type Catalog, type Entries } from './snapshot.ts';

/**
 * Lists and catalogs that say the same, as one: users with equal lists share names, routes, views and texts, and what
 * differs between them is only how fresh their parts are. Nothing is kept alive by being known here.
 */
export class Twins {
  readonly #items = new WeakTable<readonly Item[]>();
  readonly #entries = new WeakTable<Entries>();
  /** The catalog that was made with these entries. */
  readonly #catalogs = new WeakMap<Entries, Catalog>();
  readonly #numbers = new WeakMap<object, number>();
  readonly #bytes = new WeakMap<object, number>();
  #count = 0;

  /** The items, or equal ones in the same order that somebody has already. */
  items(items: readonly Item[]): readonly Item[] {
    const json = JSON.stringify(items);
    return this.#items.take(createHash('sha256').update(json).digest('base64'), () => {
      this.#bytes.set(items, costOf(items));
      return items;
    });
  }

  /** What items that came from {@link items} take in memory, in bytes. */
  bytesOf(items: readonly Item[]): number {
    return this.#bytes.get(items) ?? 0;
  }

  /** The catalog of these parts (in config order), with entries, revision and routes of an equal one if there is one. */
  catalog(parts: readonly UpstreamPart[], naming: NamingRule): { catalog: Catalog; isTwin: boolean } {
    let made: Catalog | undefined;
    const entries = this.#entries.take(this.#keyOf(parts, naming), () => {
      made = buildCatalog(parts, naming);
      this.#catalogs.set(made.entries, made);
      return made.entries;
    });
    const equal = this.#catalogs.get(entries);
    if (made !== undefined || equal === undefined) {
      return { catalog: made ?? buildCatalog(parts, naming), isTwin: false };
    }
    return {
      catalog: { ...equal, parts: new Map(parts.map((part) => [part.upstream, part])) },
      isTwin: true,
    };
  }

  #keyOf(parts: readonly UpstreamPart[], naming: NamingRule): string {
    const lists = parts.map(({ upstream, namespace, lists }) => [
      upstream,
      namespace,
      ...KINDS.map((kind) => this.#numberOf(lists[kind]?.items)),
    ]);
    return JSON.stringify([naming.separator, naming.maxLength, lists]);
  }

  #numberOf(items: readonly Item[] | undefined): number {
    if (items === undefined || items.length === 0) {
      return 0;
    }
    const known = this.#numbers.get(items);
    if (known !== undefined) {
      return known;
    }
    this.#count += 1;
    this.#numbers.set(items, this.#count);
    return this.#count;
  }
}

/** Values by name, for as long as somebody else holds them. */
class WeakTable<Value extends object> {
  readonly #known = new Map<string, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (this.#known.get(name)?.deref() === undefined) {
      this.#known.delete(name);
    }
  });

  take(name: string, make: () => Value): Value {
    const known = this.#known.get(name)?.deref();
    if (known !== undefined) {
      return known;
    }
    const value = make();
    this.#known.set(name, new WeakRef(value));
    this.#gone.register(value, name);
    return value;
  }
}
