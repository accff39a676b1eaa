import type { Item } from '../protocol/model.ts';
import type { VettingFinding } from './finding.ts';
import type { KnownBands } from './likeness.ts';
import type { Surroundings } from './manner.ts';

/** Which servers have a tool of a name, in lower case. */
export type Owners = ReadonlyMap<string, ReadonlySet<string>>;

/** What a server's own texts are judged by besides what they say. */
export interface Around extends Surroundings {
  readonly upstream: string;
  /** What the names of all its tools begin with: with the id, that makes {@link Surroundings.own}. */
  readonly prefix: string;
}

/** What was found about single items by one run, for the next one: most of them say the same then. */
export class Judged {
  readonly bands: KnownBands = new WeakMap();
  readonly #found = new WeakMap<Item, ItemFindings>();
  #owners: Owners = new Map();
  #around: ReadonlyMap<string, { readonly around: Around; readonly since: number }> = new Map();
  #runs = 0;

  /**
   * Texts are judged by which tools of others they name, and by which words for their server's own: where there are others
   * now, the texts of that server are judged anew.
   */
  among(owners: Owners, around: readonly Around[]): void {
    this.#runs += 1;
    const renamed = [...new Set([...owners.keys(), ...this.#owners.keys()])].filter(
      (name) => !isSameSet(owners.get(name), this.#owners.get(name)),
    );
    const before = this.#around;
    const isForeign = (name: string, of: Owners, upstream: string) => of.get(name)?.has(upstream) === false;
    this.#around = new Map(
      around.map((now) => {
        const { upstream, prefix } = now;
        const old = before.get(upstream);
        const isSame =
          old?.around.prefix === prefix &&
          renamed.every(
            (name) => isForeign(name, owners, upstream) === isForeign(name, this.#owners, upstream),
          );
        return [upstream, { around: now, since: isSame ? old.since : this.#runs }];
      }),
    );
    this.#owners = owners;
  }

  /** The run since which the texts of this server are judged by the same. */
  since(upstream: string): number {
    return this.#around.get(upstream)?.since ?? this.#runs;
  }

  /** Equal items of two servers may be one object. */
  of(upstream: string, item: Item): ItemFindings | undefined {
    const known = this.#found.get(item);
    return known?.upstream === upstream ? known : undefined;
  }

  keep(item: Item, found: ItemFindings): ItemFindings {
    this.#found.set(item, found);
    return found;
  }
}

/** What was found about one item, by what was looked at. */
export interface ItemFindings {
  readonly upstream: string;
  /** See {@link Judged.since}. */
  readonly since: number;
  readonly hints: readonly VettingFinding[];
  readonly names: readonly VettingFinding[];
  readonly schemas: readonly VettingFinding[];
  readonly description: readonly VettingFinding[];
  readonly manner: readonly VettingFinding[];
}

function isSameSet(one: ReadonlySet<string> | undefined, other: ReadonlySet<string> | undefined): boolean {
  return one === other || (one?.size === other?.size && [...(one ?? [])].every((each) => other?.has(each)));
}
