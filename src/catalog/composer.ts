import { KINDS, type Kind } from '../protocol/model.ts';
import type { CommonList } from './list-source.ts';
import type { NamingRule } from './naming.ts';
import type { OwnList } from './own-list.ts';
import type { ListPart, UpstreamPart } from './part.ts';
import type { Duty, Scoping } from './scoping.ts';
import type { Screen } from './screen.ts';
import type { Catalog } from './snapshot.ts';
import type { Twins } from './twins.ts';

/** A catalog of one principal. */
export interface Composed {
  readonly catalog: Catalog;
  /** What it takes in memory besides its lists; 0 where others hold it anyway. */
  readonly bytes: number;
}

export interface ComposerOptions {
  readonly scoping: Pick<Scoping, 'isOwn' | 'isForEverybody'>;
  readonly twins: Twins;
  readonly commonOf: (duty: Duty) => CommonList | undefined;
  readonly shared: () => Catalog;
  readonly order: () => readonly string[];
  readonly namespaceOf: (upstream: string) => string;
  readonly naming: () => NamingRule;
  readonly screen: Screen;
}

/** What an entry of a catalog takes with its names, routes and serialised texts, in bytes; as measured, in round figures. */
const BYTES_EACH = 1_024;

/** Which places of the shared catalog are each principal's own, and what it looks like with something in them. */
export class Composer {
  readonly #options: ComposerOptions;
  #duties: { readonly of: Catalog; readonly duties: readonly Duty[] } | undefined;

  constructor(options: ComposerOptions) {
    this.#options = options;
  }

  /**
   * In config order. Of an upstream to which each user is known, all lists; of any other, those that its answer to the
   * gateway itself, or the configuration, makes private.
   */
  get duties(): readonly Duty[] {
    const { order, shared, scoping } = this.#options;
    const current = shared();
    if (this.#duties?.of !== current) {
      const duties = order().flatMap((upstream) => {
        const lists = current.parts.get(upstream)?.lists ?? {};
        const isPrivate = (kind: Kind) =>
          lists[kind] !== undefined && !scoping.isForEverybody(upstream, lists[kind].hints.scope);
        const kinds = scoping.isOwn(upstream) ? KINDS : KINDS.filter(isPrivate);
        return kinds.map((kind) => ({ upstream, kind }));
      });
      this.#duties = { of: current, duties };
    }
    return this.#duties.duties;
  }

  /** Which upstreams there are is another matter now. */
  forget(): void {
    this.#duties = undefined;
  }

  /** The shared catalog with these lists in the places of the duties; itself where that makes no difference. */
  compose(own: (duty: Duty) => OwnList | undefined): Composed {
    const { order, shared, naming, twins, screen } = this.#options;
    const current = shared();
    const parts = new Map<string, UpstreamPart | undefined>(current.parts);
    for (const upstream of new Set(this.duties.map((duty) => duty.upstream))) {
      const duties = this.duties.filter((duty) => duty.upstream === upstream);
      parts.set(upstream, this.#mixed(upstream, duties, own));
    }
    if ([...parts].every(([upstream, part]) => part === current.parts.get(upstream))) {
      return { catalog: current, bytes: 0 };
    }
    const ordered = order().flatMap((upstream) => parts.get(upstream) ?? []);
    const { catalog, isTwin } = twins.catalog(ordered, naming(), screen);
    const entries = KINDS.reduce((sum, kind) => sum + catalog.entries[kind].length, 0);
    return { catalog, bytes: isTwin ? 0 : BYTES_EACH * entries };
  }

  #mixed(
    upstream: string,
    duties: readonly Duty[],
    own: (duty: Duty) => OwnList | undefined,
  ): UpstreamPart | undefined {
    const { shared, commonOf, namespaceOf } = this.#options;
    const all = shared().parts.get(upstream);
    const lists: Partial<Record<Kind, ListPart>> = { ...all?.lists };
    let known = false;
    let stale = all?.stale ?? false;
    for (const duty of duties) {
      const { kind } = duty;
      const common = commonOf(duty)?.list;
      const mine = own(duty);
      const source = common?.known === true && mine?.refused !== true ? common : mine;
      known ||= source?.known === true;
      stale ||= source?.fault !== undefined;
      delete lists[kind];
      if (source?.list !== undefined) {
        lists[kind] = source.list;
      }
    }
    if (all !== undefined && stale === all.stale && KINDS.every((kind) => lists[kind] === all.lists[kind])) {
      return all;
    }
    return known || Object.keys(lists).length > 0
      ? { upstream, namespace: namespaceOf(upstream), lists, stale }
      : undefined;
  }
}
