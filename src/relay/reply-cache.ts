import { type Asked, isForEverybody, type Scoped, type ScopeKey, scopeKey } from '../access/cache-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Budget } from '../base/budget.ts';
import { costOf } from '../base/cost.ts';
import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { type JsonObject, objectAt, without } from '../base/json.ts';
import { wholesOf } from '../base/uri-parts.ts';
import { withHopMeta } from '../protocol/meta.ts';
import { flag, type RequestRecord } from './record.ts';

export interface ReplyCacheOptions {
  /** How an upstream is reached, and what the configuration says of its answers. */
  readonly scoped: (upstream: string) => Scoped;
  readonly budget: Budget<ScopeKey>;
  readonly now?: () => number;
  /** Hears where each answer came from. */
  readonly looked?: (result: 'shared' | 'private' | 'miss') => void;
}

/** One request as its upstream gets it, before anything that belongs to one hop is added. */
export interface ReadRequest {
  readonly upstream: string;
  readonly uri: string;
  readonly params: JsonObject;
}

/** Whoever asks. */
interface Reader {
  readonly principal: Principal;
  readonly signal: EndSignal;
  readonly record?: RequestRecord;
}

interface Kept {
  readonly upstream: string;
  readonly uri: string;
  /** Grant and key of the one principal it was read for: events name one of them. */
  readonly owners: readonly string[] | undefined;
  readonly result: JsonObject;
  /** ms since the epoch. */
  readonly until: number;
}

const METHOD = 'resources/read';
/** Members of `_meta` that say where a request belongs, not what it asks (W3C Trace Context). */
const TRACE = ['traceparent', 'tracestate', 'baggage'] as const;

/**
 * Answers to `resources/read`, as the upstream gave them, for as long as it says that they are fresh (spec 2026-07-28:
 * server/utilities/caching). Whose they are is decided as for lists. Who asks for what somebody is reading right now
 * waits for that, unless its upstream is known to give nothing that could be kept.
 */
export class ReplyCache {
  readonly #options: ReplyCacheOptions;
  readonly #now: () => number;
  readonly #kept = new Map<ScopeKey, Kept>();
  readonly #keys = new Map<string, Map<string, Set<ScopeKey>>>();
  readonly #flights = new Map<ScopeKey, Promise<void>>();
  /** What an upstream answered last: for all, for its asker, or nothing to be kept. */
  readonly #habits = new Map<string, 'everybodys' | 'own' | 'none'>();
  /** How often something of an upstream was forgotten: what was asked for before is not kept after. */
  readonly #forgotten = new Map<string, number>();

  constructor(options: ReplyCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The answer to this request: a kept one, or what `ask` resolves with. Retries are never kept (spec, Cache Key). */
  async read(request: ReadRequest, reader: Reader, ask: () => Promise<JsonObject>): Promise<JsonObject> {
    if (isRetry(request.params)) {
      return ask();
    }
    const asked = askedOf(request);
    const own = scopeKey(asked, reader.principal);
    const everybodys = scopeKey(asked, undefined);
    for (const key of [everybodys, own]) {
      const kept = this.#keptFor(own, everybodys, reader);
      if (kept !== undefined) {
        return kept;
      }
      const flight = this.#flights.get(key);
      if (flight !== undefined && this.#habits.get(request.upstream) !== 'none') {
        await orGone(flight, reader.signal);
      }
    }
    const kept = this.#keptFor(own, everybodys, reader);
    if (kept !== undefined) {
      return kept;
    }
    this.#options.looked?.('miss');
    return this.#lead(request, reader.principal, ask);
  }

  #keptFor(own: ScopeKey, everybodys: ScopeKey, reader: Reader): JsonObject | undefined {
    const mine = this.#find(own);
    const kept = mine ?? this.#find(everybodys);
    if (kept !== undefined) {
      this.#options.looked?.(mine === undefined ? 'shared' : 'private');
      flag(reader, 'cached');
    }
    return kept;
  }

  /** The resources of this upstream may have changed: for one principal, or for all. */
  forget(upstream: string, owner?: string): void {
    this.#count(upstream);
    for (const keys of [...(this.#keys.get(upstream)?.values() ?? [])]) {
      this.#forgetThose(keys, owner);
    }
  }

  /** One resource has changed; it may be a part of others, whose URIs it begins with (spec: server/resources). */
  forgetUri(upstream: string, uri: string, owner?: string): void {
    const wholes = wholesOf(uri);
    if (wholes === undefined) {
      this.forget(upstream, owner);
      return;
    }
    this.#count(upstream);
    const uris = this.#keys.get(upstream);
    for (const whole of uris === undefined ? [] : wholes) {
      this.#forgetThose(uris?.get(whole) ?? new Set(), owner);
    }
  }

  #forgetThose(keys: ReadonlySet<ScopeKey>, owner: string | undefined): void {
    for (const key of [...keys]) {
      const kept = this.#kept.get(key);
      if (owner === undefined || kept?.owners?.includes(owner) !== false) {
        this.#drop(key);
      }
    }
  }

  #count(upstream: string): void {
    this.#forgotten.set(upstream, (this.#forgotten.get(upstream) ?? 0) + 1);
  }

  /** What is kept under this key, with the time that is left. */
  #find(key: ScopeKey): JsonObject | undefined {
    const kept = this.#kept.get(key);
    const left = kept === undefined ? 0 : kept.until - this.#now();
    if (kept === undefined || left <= 0) {
      this.#drop(key);
      return undefined;
    }
    this.#options.budget.touch(key);
    return { ...kept.result, ttlMs: left };
  }

  async #lead(
    request: ReadRequest,
    principal: Principal,
    ask: () => Promise<JsonObject>,
  ): Promise<JsonObject> {
    const { upstream } = request;
    const asked = askedOf(request);
    const before = this.#forgotten.get(upstream);
    let land = () => {};
    const flight = new Promise<void>((resolve) => {
      land = resolve;
    });
    const keys = [
      scopeKey(asked, principal),
      ...(this.#isHopeful(upstream) ? [scopeKey(asked, undefined)] : []),
    ].filter((key) => !this.#flights.has(key));
    for (const key of keys) {
      this.#flights.set(key, flight);
    }
    try {
      const result = await ask();
      const forAll = isForEverybody(this.#options.scoped(upstream), hintedScope(result));
      const told = forAll || hintedScope(result) !== 'public' ? result : { ...result, cacheScope: 'private' };
      const keeps = isKeepable(result);
      this.#habits.set(upstream, keeps ? (forAll ? 'everybodys' : 'own') : 'none');
      if (keeps && this.#forgotten.get(upstream) === before) {
        this.#keep(request, forAll ? undefined : principal, told);
      }
      return told;
    } finally {
      for (const key of keys) {
        this.#flights.delete(key);
      }
      land();
    }
  }

  /** Whether an answer may turn out to be everybody's; else nobody has to wait for what another user is reading. */
  #isHopeful(upstream: string): boolean {
    return this.#habits.get(upstream) !== 'own' && isForEverybody(this.#options.scoped(upstream), 'public');
  }

  #keep(request: ReadRequest, owner: Principal | undefined, result: JsonObject): void {
    const { upstream, uri } = request;
    const key = scopeKey(askedOf(request), owner);
    this.#drop(key);
    const until = this.#now() + Number(result['ttlMs']);
    const owners = owner && [owner.grant, owner.key];
    this.#kept.set(key, { upstream, uri, owners, result, until });
    const uris = this.#keys.get(upstream) ?? new Map<string, Set<ScopeKey>>();
    const keys = uris.get(uri) ?? new Set<ScopeKey>();
    this.#keys.set(upstream, uris.set(uri, keys.add(key)));
    this.#options.budget.hold(key, key.length + costOf(result), () => this.#drop(key));
  }

  #drop(key: ScopeKey): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) {
      return;
    }
    this.#kept.delete(key);
    this.#options.budget.release(key);
    const uris = this.#keys.get(kept.upstream);
    const keys = uris?.get(kept.uri);
    keys?.delete(key);
    if (keys?.size === 0) {
      uris?.delete(kept.uri);
    }
  }
}

/** The params as far as they change the answer. */
function askedOf({ upstream, params }: ReadRequest): Asked {
  const kept = withHopMeta(params, {}) ?? {};
  const meta = objectAt(kept, '_meta');
  const rest = meta === undefined ? {} : without(meta, ...TRACE);
  const bare = without(kept, '_meta');
  const asking = Object.keys(rest).length === 0 ? bare : { ...bare, _meta: rest };
  return { upstream, method: METHOD, params: asking };
}

function isRetry(params: JsonObject): boolean {
  return params['inputResponses'] !== undefined || params['requestState'] !== undefined;
}

/** A final answer that says for how long it is fresh. One without a time never is: a file may be read after an edit. */
function isKeepable({ resultType, ttlMs }: JsonObject): boolean {
  const final = resultType === undefined || resultType === 'complete';
  return final && typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs > 0;
}

function hintedScope({ cacheScope }: JsonObject): 'public' | 'private' | undefined {
  return cacheScope === 'public' || cacheScope === 'private' ? cacheScope : undefined;
}

/** Waits for a flight; rejects with CANCELLED when the client no longer waits. */
function orGone(flight: Promise<void>, signal: EndSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new GatewayError('CANCELLED'));
    if (signal.aborted) {
      gone();
      return;
    }
    signal.addEventListener('abort', gone, { once: true });
    void flight.then(() => {
      signal.removeEventListener('abort', gone);
      resolve();
    });
  });
}
