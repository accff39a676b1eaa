import type { ListPart, UpstreamPart } from '../catalog/part.ts';
import type { Screen, Verdicts } from '../catalog/screen.ts';
import type { Settings } from '../config/settings.ts';
import type { Item, Kind } from '../protocol/model.ts';
import { PINNED, type PinnedKind } from './definition.ts';
import { isPinned, type LockState, nameIn } from './lock.ts';
import { asSaid } from './offered.ts';
import { pinChanges } from './pins.ts';

export type OnChange = 'allow' | 'warn' | 'quarantine';

const STRICTEST_FIRST: readonly OnChange[] = ['quarantine', 'warn', 'allow'];

/** What the most careful upstream asks for: about the lock file as a whole, which is no single one's. */
export function strictestOf({ upstreams, pins }: Pick<Settings, 'upstreams' | 'pins'>): OnChange {
  const all = Object.values(upstreams).map((upstream) => upstream.pins.onChange);
  return STRICTEST_FIRST.find((each) => all.includes(each)) ?? pins.onChange;
}

export interface QuarantineOptions {
  readonly lock: () => LockState;
  /** What becomes of what one upstream changed. */
  readonly onChange: (upstream: string) => OnChange;
  /** Whether each user is known to this upstream: then it has nothing that could have been approved for all. */
  readonly isOwn: (upstream: string) => boolean;
}

const SERVED: Verdicts = new Map();

/**
 * With `pins.onChange: quarantine`: what is broken, or new, is withheld until somebody approves it; what has grown is told
 * as it was approved, so that nothing that nobody has read reaches a model. Where nobody knows what is approved, nothing
 * is. Lists of servers that each user signs in to are left alone, unless something of the server is approved.
 */
export class Quarantine implements Screen {
  readonly #options: QuarantineOptions;
  readonly #judged = new WeakMap<ListPart, { readonly lock: LockState; readonly verdicts: Verdicts }>();
  /** The same object as long as it says the same. */
  readonly #told = new WeakMap<Item, { readonly digest: string; readonly item: Item }>();

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  judge(part: UpstreamPart, kind: Kind): Verdicts {
    const { lock, onChange } = this.#options;
    const list = part.lists[kind];
    if (onChange(part.upstream) !== 'quarantine' || list === undefined || !isPinnedKind(kind)) {
      return SERVED;
    }
    const state = lock();
    if (this.#isNobodys(part.upstream, state)) {
      return SERVED;
    }
    const known = this.#judged.get(list);
    if (known !== undefined && known.lock === state) {
      return known.verdicts;
    }
    const verdicts = this.#verdicts(part, kind, list, state);
    this.#judged.set(list, { lock: state, verdicts });
    return verdicts;
  }

  /**
   * What clients are told of the instructions of a server: those that are approved, where others are not to be passed on;
   * undefined: none.
   */
  instructions(upstream: string, told: string): string | undefined {
    const { lock, onChange } = this.#options;
    const state = lock();
    if (onChange(upstream) !== 'quarantine' || this.#isNobodys(upstream, state)) {
      return told;
    }
    return state === undefined || 'fault' in state ? undefined : state.lock.get(upstream)?.instructions?.text;
  }

  /** Each user is told something else, and nobody could approve it. A lock that cannot be read may well say otherwise. */
  #isNobodys(upstream: string, state: LockState): boolean {
    const isApproved = state !== undefined && ('fault' in state || isPinned(state.lock, upstream));
    return !isApproved && this.#options.isOwn(upstream);
  }

  #verdicts(part: UpstreamPart, kind: PinnedKind, list: ListPart, state: LockState): Verdicts {
    const { upstream } = part;
    if (state === undefined || 'fault' in state) {
      return new Map(list.items.map((item) => [nameIn(kind, item), undefined]));
    }
    const said = asSaid(part).lists[kind] ?? [];
    const verdicts = new Map<string, Item | undefined>();
    for (const { id, name, to } of pinChanges(state.lock, [{ upstream, lists: { [kind]: said } }])) {
      if (id === 'pin.grown') {
        verdicts.set(
          name,
          this.#asApproved(
            name,
            { kind, said, served: list.items },
            state.lock.get(upstream)?.[kind]?.get(name),
          ),
        );
      } else if (id !== 'pin.removed') {
        verdicts.set(to ?? name, undefined);
      }
    }
    return verdicts;
  }

  /** The approved definition, with what the configuration says in its place, and what nobody approves (`_meta`, icons). */
  #asApproved(
    name: string,
    {
      kind,
      said,
      served,
    }: { readonly kind: PinnedKind; readonly said: readonly Item[]; readonly served: readonly Item[] },
    pin: { readonly digest: string; readonly definition: Item } | undefined,
  ): Item | undefined {
    const find = (items: readonly Item[]) => items.find((item) => nameIn(kind, item) === name);
    const [raw, shaped] = [find(said), find(served)];
    if (raw === undefined || shaped === undefined || pin === undefined) {
      return undefined;
    }
    const known = this.#told.get(shaped);
    if (known?.digest === pin.digest) {
      return known.item;
    }
    const ours = ['description', 'annotations'].filter((member) => shaped[member] !== raw[member]);
    const kept = ['_meta', 'icons', ...ours].flatMap((member) =>
      shaped[member] === undefined ? [] : [[member, shaped[member]] as const],
    );
    const item = { ...pin.definition, ...Object.fromEntries(kept) };
    this.#told.set(shaped, { digest: pin.digest, item });
    return item;
  }
}

function isPinnedKind(kind: Kind): kind is PinnedKind {
  return (PINNED as readonly Kind[]).includes(kind);
}
