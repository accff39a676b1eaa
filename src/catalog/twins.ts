import { createHash } from 'node:crypto';
import { costOf } from '../base/cost.ts';
import type { Item } from '../protocol/model.ts';
import { KINDS } from '../protocol/model.ts';
import type { NamingRule } from './naming.ts';
import type { UpstreamPart } from './part.ts';
import type { Screen } from './screen.ts';
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
  catalog(
    parts: readonly UpstreamPart[],
    naming: NamingRule,
    screen: Screen,
  ): { catalog: Catalog; isTwin: boolean } {
    let made: Catalog | undefined;
    const entries = this.#entries.take(this.#keyOf(parts, naming, screen), () => {
      made = buildCatalog(parts, naming, undefined, screen);
      this.#catalogs.set(made.entries, made);
      return made.entries;
    });
    const equal = this.#catalogs.get(entries);
    if (made !== undefined || equal === undefined) {
      return { catalog: made ?? buildCatalog(parts, naming, undefined, screen), isTwin: false };
    }
    return {
      catalog: { ...equal, parts: new Map(parts.map((part) => [part.upstream, part])) },
      isTwin: true,
    };
  }

  #keyOf(parts: readonly UpstreamPart[], naming: NamingRule, screen: Screen): string {
    const lists = parts.map((part) => [
      part.upstream,
      part.namespace,
      ...KINDS.map((kind) => this.#numberOf(part.lists[kind]?.items)),
      // The same items under other names are another catalog.
      ...(part.lists.tools?.renamed ?? []),
      ...KINDS.map((kind) => [...screen.judge(part, kind)].map(([name, item]) => [name, this.#number(item)])),
    ]);
    return JSON.stringify([naming.separator, naming.maxLength, lists]);
  }

  #numberOf(items: readonly Item[] | undefined): number {
    return items?.length === 0 ? 0 : this.#number(items);
  }

  #number(object: object | undefined): number {
    const known = object === undefined ? 0 : this.#numbers.get(object);
    if (object === undefined || known !== undefined) {
      return known ?? 0;
    }
    this.#count += 1;
    this.#numbers.set(object, this.#count);
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
