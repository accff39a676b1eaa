import PQueue from 'p-queue';
import type { Principal } from '../access/principal.ts';
import type { GatewayError } from '../base/errors.ts';
import { CHANGES, type Change, type Kind } from '../protocol/model.ts';
import { Composer, type ComposerOptions } from './composer.ts';
import { CHANGE_OF, ListSource, type ListSourceOptions } from './list-source.ts';
import { type ListStanding, ownStanding } from './list-standing.ts';
import type { OwnList } from './own-list.ts';
import type { UpstreamPart } from './part.ts';
import { Personal, type PersonalHost } from './personal.ts';
import type { Caller, Duty, Scoping } from './scoping.ts';
import type { Catalog } from './snapshot.ts';
import { Twins } from './twins.ts';

export interface PrincipalsOptions<C extends Caller>
  extends Omit<ListSourceOptions<C>, 'twins'>,
    Omit<ComposerOptions, 'scoping' | 'twins' | 'commonOf'>,
    Pick<PersonalHost<C>, 'publish' | 'paged' | 'replaced' | 'schedule'> {}

/** Lists of one upstream that are read at once for those who only listen: a change must not become a rush. */
const READS_AT_ONCE = 16;
/** What a principal takes in memory besides its lists and its catalog, in bytes; in round figures. */
const BYTES_EACH = 1_024;

/**
 * Everybody whose catalog may differ from the shared one, bounded by bytes. By grant, since an upstream may answer by what
 * somebody may do: the same user with a token for less is somebody else here.
 */
export class Principals<C extends Caller> {
  readonly #scoping: Scoping;
  readonly #shared: () => Catalog;
  readonly #known = new Map<string, Personal<C>>();
  /** The same by the key of their user. */
  readonly #ofUser = new Map<string, Set<Personal<C>>>();
  readonly #source: ListSource<C>;
  readonly #composer: Composer;
  readonly #host: PersonalHost<C>;
  /** By upstream: one that hangs holds up no other. */
  readonly #background = new Map<string, PQueue>();
  /** The catalog of whoever has read nothing yet. */
  #bare: { readonly of: Catalog; readonly catalog: Catalog } | undefined;

  constructor(options: PrincipalsOptions<C>) {
    const twins = new Twins();
    const source = new ListSource({ ...options, twins });
    const composer = new Composer({ ...options, twins, commonOf: (duty) => source.commonOf(duty) });
    this.#scoping = options.scoping;
    this.#shared = options.shared;
    this.#source = source;
    this.#composer = composer;
    this.#host = {
      ...options,
      source,
      duties: () => composer.duties,
      compose: (own) => composer.compose(own),
      later: (upstream, work) => this.#later(upstream, work),
      weigh: (personal) => this.#weigh(personal),
    };
  }

  /** Whether this is the owner, as events name them, whose lists are the shared ones. */
  isEverybody(owner: string): boolean {
    const { key, grant } = this.#scoping.everybody;
    return owner === key || owner === grant;
  }

  of(principal: Principal): Catalog {
    const current = this.#shared();
    if (this.isEverybody(principal.key)) {
      return current;
    }
    const personal = this.#known.get(principal.grant);
    if (personal !== undefined) {
      this.#scoping.budget.touch(this.#scoping.keyOfAll(principal));
      return personal.catalog;
    }
    if (this.#bare?.of !== current) {
      this.#bare = { of: current, catalog: this.#composer.compose(() => undefined).catalog };
    }
    return this.#bare.catalog;
  }

  async ready(caller: C, upstreams: readonly string[], ms: number): Promise<Catalog> {
    const duties = this.#dutiesOf(caller.principal).filter(({ upstream }) => upstreams.includes(upstream));
    return duties.length === 0
      ? this.of(caller.principal)
      : this.#personal(caller.principal).ready(caller, duties, ms);
  }

  /** Reads again what of these is this principal's own; resolves with those that are not. */
  async reread(upstream: string, kinds: readonly Kind[], caller: C): Promise<readonly Kind[]> {
    const own = this.#dutiesOf(caller.principal).filter(
      (duty) => duty.upstream === upstream && kinds.includes(duty.kind),
    );
    if (own.length > 0) {
      await this.#personal(caller.principal).reread(caller, own);
    }
    return kinds.filter((kind) => !own.some((duty) => duty.kind === kind));
  }

  /** See {@link Store.gap}. */
  gap(
    principal: Principal,
    upstream: string,
    kind: Kind,
  ): { readonly fault: GatewayError | undefined } | undefined {
    const duty = this.#dutyOf(principal, upstream, kind);
    if (duty === undefined) {
      return undefined;
    }
    const personal = this.#known.get(principal.grant);
    const isThere =
      personal === undefined
        ? this.#source.commonOf(duty)?.list.known
        : personal.list(duty).known || personal.isCommon(duty);
    return isThere === true ? undefined : { fault: personal?.list(duty).fault };
  }

  isOwn(principal: Principal, upstream: string, kind: Kind): boolean {
    return this.#dutyOf(principal, upstream, kind) !== undefined;
  }

  /** See {@link Store.standing}; undefined where the list is everybody's. */
  standing(principal: Principal, upstream: string, kind: Kind): ListStanding | undefined {
    const duty = this.#dutyOf(principal, upstream, kind);
    const mine = duty && this.#known.get(principal.grant);
    const common = duty && this.#source.commonOf(duty)?.list;
    const isShared = common?.known === true && (mine === undefined || (duty && mine.isCommon(duty)));
    return duty && ownStanding(isShared ? common : mine?.list(duty), isShared ? 'shared' : 'principal');
  }

  byRevision(revision: string, principal: Principal): Catalog | undefined {
    return this.#known.get(principal.grant)?.byRevision(revision);
  }

  listen(caller: C): () => void {
    return this.isEverybody(caller.principal.key)
      ? () => {}
      : this.#personal(caller.principal).attention.listen(caller);
  }

  /** Everybody was told that lists changed. Only whoever listens reads them at once; the others when they ask. */
  noticed(upstream: string, changes: readonly Change[] = CHANGES): void {
    for (const change of changes) {
      this.#source.noticed(upstream, change);
    }
    for (const personal of this.#known.values()) {
      if (personal.attention.active) {
        this.#tell(personal, upstream, changes, (list) => list.noticed());
      }
    }
  }

  /** One principal was told that lists changed, on a connection of its own. */
  invalidate(upstream: string, change: Change, owner: string): void {
    for (const personal of this.#ownedBy(owner)) {
      personal.attention.heard(change);
      this.#tell(personal, upstream, [change], (list) => list.invalidate());
    }
    const duties = this.#composer.duties.filter(
      (duty) => duty.upstream === upstream && CHANGE_OF[duty.kind] === change,
    );
    const common = duties.flatMap((duty) => this.#source.commonOf(duty)?.list ?? []);
    if (common.length > 0) {
      // What changed for one of those who are served the same has changed for all of them.
      for (const list of common) {
        list.invalidate();
      }
      for (const other of this.#known.values()) {
        other.attention.noticed();
      }
    }
  }

  /** Notices to this principal may have gone unheard. */
  missed(upstream: string, owner: string): void {
    for (const personal of this.#ownedBy(owner)) {
      this.#tell(personal, upstream, CHANGES, (list) => list.missed());
    }
  }

  /** Whether the last swap of the shared catalog is news for this principal. */
  follows(principal: Principal): boolean {
    return this.isEverybody(principal.key) || this.#known.get(principal.grant)?.attention.follows === true;
  }

  /** The shared catalog took the place of `before`. Only whoever listens is concerned. */
  sharedChanged(before: Catalog): void {
    for (const personal of this.#known.values()) {
      personal.attention.sharedChanged(before);
    }
  }

  /** What one principal read for all, of an upstream that the gateway does not read by itself. */
  commonPart(upstream: string, namespace: string): UpstreamPart | undefined {
    return this.#source.commonPart(upstream, namespace);
  }

  /** See {@link ListSource.adopt}. */
  adopt(part: UpstreamPart): void {
    this.#source.adopt(part);
  }

  /** An upstream is gone, or is another server now: nothing that it said to single users is served any more. */
  forget(upstream: string): void {
    this.#background.delete(upstream);
    this.#source.forget(upstream);
    for (const personal of this.#known.values()) {
      personal.forget(upstream);
    }
  }

  /** Upstreams, their order, or names are others now. */
  rearranged(): void {
    this.#composer.forget();
    this.#bare = undefined;
    for (const personal of this.#known.values()) {
      personal.rearranged();
    }
  }

  close(): void {
    this.#source.close();
    for (const personal of this.#known.values()) {
      personal.attention.close();
    }
  }

  #dutiesOf(principal: Principal): readonly Duty[] {
    return this.isEverybody(principal.key) ? [] : this.#composer.duties;
  }

  #dutyOf(principal: Principal, upstream: string, kind: Kind): Duty | undefined {
    return this.#dutiesOf(principal).find((duty) => duty.upstream === upstream && duty.kind === kind);
  }

  #tell(
    personal: Personal<C>,
    upstream: string,
    changes: readonly Change[],
    tell: (list: OwnList) => void,
  ): void {
    for (const duty of this.#composer.duties) {
      if (duty.upstream === upstream && changes.includes(CHANGE_OF[duty.kind])) {
        tell(personal.list(duty));
      }
    }
    personal.attention.noticed();
  }

  #later(upstream: string, work: () => Promise<void>): Promise<void> {
    const queue = this.#background.get(upstream) ?? new PQueue({ concurrency: READS_AT_ONCE });
    this.#background.set(upstream, queue);
    return queue.add(work);
  }

  #personal(principal: Principal): Personal<C> {
    let personal = this.#known.get(principal.grant);
    if (personal === undefined) {
      personal = new Personal(principal, this.#host);
      this.#known.set(principal.grant, personal);
      const mine = this.#ofUser.get(principal.key) ?? new Set<Personal<C>>();
      this.#ofUser.set(principal.key, mine.add(personal));
    }
    return personal;
  }

  #forget(personal: Personal<C>): void {
    const { key, grant } = personal.principal;
    this.#known.delete(grant);
    const mine = this.#ofUser.get(key);
    mine?.delete(personal);
    if (mine?.size === 0) {
      this.#ofUser.delete(key);
    }
  }

  /** Those whom an event is about: those of one grant, or all of one user. */
  #ownedBy(owner: string): Iterable<Personal<C>> {
    const personal = this.#known.get(owner);
    return personal === undefined ? (this.#ofUser.get(owner) ?? []) : [personal];
  }

  /** What is in use stays beyond the bound, and is counted again when it no longer is. */
  #weigh(personal: Personal<C>): void {
    const { principal } = personal;
    const isKept = () => this.#known.get(principal.grant) === personal;
    if (isKept()) {
      const { budget, keyOfAll } = this.#scoping;
      budget.hold(keyOfAll(principal), BYTES_EACH + personal.bytes, () => {
        if (isKept() && !personal.inUse) {
          this.#forget(personal);
        }
      });
    }
  }
}
