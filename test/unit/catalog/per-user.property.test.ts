import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EVERYTHING } from '../../../src/access/policy.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { changesSeen } from '../../../src/catalog/changes-seen.ts';
import type { UpstreamPart } from '../../../src/catalog/part.ts';
import { buildCatalog, type Catalog } from '../../../src/catalog/snapshot.ts';
import { viewOf } from '../../../src/catalog/view.ts';
import { type CacheHints, CHANGES, KINDS, type Kind } from '../../../src/protocol/model.ts';
import { type Entrance, sightOf } from '../../../src/relay/context.ts';
import { policyOf } from '../access/people.ts';
import { list, resource, template, tool } from './parts.ts';
import { by, createWorld, DEBOUNCE, TTL, type UpstreamScript, user, type World } from './users.ts';

/**
 * What a user sees equals what a gateway without any cache would show: one that asks every server anew for that user and
 * merges the answers. And whoever listens is told when that changed, and only then.
 */

const USERS = ['ann', 'bob', 'cec'] as const;
type User = (typeof USERS)[number];

/** Names that collide once they are cleaned or put behind a namespace; URIs and templates of which two can have one. */
const NAMES: Readonly<Record<Kind, readonly string[]>> = {
  tools: ['x', 'x_', 'x!', 'y'],
  prompts: ['p', 'q'],
  resources: ['note://1', 'note://2', 'file:///r'],
  templates: ['note://{n}', 'note://{m}', 'db://{t}'],
};
const ITEM = { tools: tool, prompts: (name: string) => ({ name }), resources: resource, templates: template };

/** Which of the names are there: for everybody, and besides for each user. Bits. */
interface Offer {
  readonly all: number;
  readonly each: Readonly<Record<User, number>>;
  /** In every definition, so that one name can say something else. */
  readonly version: number;
}

interface Server {
  readonly own: boolean;
  readonly scope: 'auto' | 'private';
  readonly trustPublic: boolean;
  readonly hints: CacheHints;
  readonly offers: Readonly<Record<Kind, Offer>>;
  /** Whom it refuses, where it can know. */
  readonly refuses: readonly User[];
}

type Step =
  | { readonly does: 'offer'; readonly server: number; readonly kind: Kind; readonly offer: Offer }
  | { readonly does: 'hints'; readonly server: number; readonly hints: CacheHints }
  | { readonly does: 'refuse'; readonly server: number; readonly users: readonly User[] }
  | { readonly does: 'wait'; readonly server: number; readonly kind: Kind; readonly offer: Offer }
  | { readonly does: 'list'; readonly who: User }
  | { readonly does: 'listen'; readonly who: User }
  | { readonly does: 'forget' };

const bits = fc.integer({ min: 0, max: 15 });
const offer: fc.Arbitrary<Offer> = fc.record({
  all: bits,
  each: fc.record({ ann: bits, bob: bits, cec: bits }),
  version: fc.integer({ min: 0, max: 2 }),
});
const hints: fc.Arbitrary<CacheHints> = fc.record({
  ttlMs: fc.constantFrom(undefined, 0, 5_000),
  scope: fc.constantFrom(undefined, 'public' as const, 'private' as const),
});
const kind = fc.constantFrom(...KINDS);
const who = fc.constantFrom(...USERS);
const users = fc.subarray([...USERS]);
const server: fc.Arbitrary<Server> = fc.record({
  own: fc.boolean(),
  scope: fc.constantFrom('auto', 'auto', 'private'),
  trustPublic: fc.boolean(),
  hints,
  offers: fc.record({ tools: offer, prompts: offer, resources: offer, templates: offer }),
  refuses: fc.constantFrom<readonly User[]>([], [], ['ann']),
});
const index = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constant('offer'), server: index, kind, offer } as const),
  fc.record({ does: fc.constant('hints'), server: index, hints } as const),
  fc.record({ does: fc.constant('refuse'), server: index, users } as const),
  fc.record({ does: fc.constant('wait'), server: index, kind, offer } as const),
  fc.record({ does: fc.constant('list'), who } as const),
  fc.record({ does: fc.constant('listen'), who } as const),
  fc.record({ does: fc.constant('forget') } as const),
);
const PATTERNS = ['*', 'u0.*', 'u1.x*', 'tool:*.y', 'resource:*.note:*', 'prompt:u2.*'];
const rules = fc.array(
  fc.record({
    who: fc.record({ ids: fc.subarray([...USERS], { minLength: 1 }) }),
    allow: fc.subarray(PATTERNS, { minLength: 1 }),
    deny: fc.subarray(PATTERNS),
  }),
  { maxLength: 3 },
);

/** What this server has for whoever asks; an honest one says `public` only of what is the same for all. */
function offered(server: Server, kind: Kind, who: User | undefined): readonly unknown[] | undefined {
  const { all, each, version } = server.offers[kind];
  const knowsWho =
    who !== undefined && (server.own || server.hints.scope === 'private' || server.scope === 'private');
  const mine = knowsWho && server.hints.scope !== 'public' ? each[who] : 0;
  const names = NAMES[kind].filter((_, bit) => ((all | mine) & (1 << bit)) !== 0);
  return names.map((name) => ITEM[kind](name, { title: `version ${version}` }));
}

function refuses(
  { own, refuses: refused, hints: { scope }, trustPublic, scope: configured }: Server,
  who: User,
) {
  // Nobody is refused what another one may have read for all.
  const isCommon = own && trustPublic && scope === 'public' && configured === 'auto';
  return own && !isCommon && refused.includes(who);
}

function scriptOf(current: () => Server): UpstreamScript {
  return {
    get own() {
      return current().own;
    },
    get scope() {
      return current().scope;
    },
    get trustPublic() {
      return current().trustPublic;
    },
    get hints() {
      return current().hints;
    },
    offers: (kind, id) => {
      const asking = USERS.find((each) => each === id);
      if (asking !== undefined && refuses(current(), asking)) {
        throw new GatewayError('UPSTREAM_AUTH');
      }
      return offered(current(), kind, asking);
    },
  };
}

/** The merged catalog of one user, without anything kept. */
function naive(servers: readonly Server[], who: User): Catalog {
  const parts = servers.flatMap((each, n): UpstreamPart[] => {
    if (refuses(each, who)) {
      return [];
    }
    const lists = KINDS.map((kind) => [kind, list(kind, offered(each, kind, who) ?? [])]);
    return [{ upstream: `u${n}`, namespace: `u${n}`, stale: false, lists: Object.fromEntries(lists) }];
  });
  return buildCatalog(parts, { separator: '.', maxLength: 128 });
}

const ENTRANCES = (['dotted', 'strict'] as const).map(
  (style): Entrance => ({
    id: style,
    selection: { style },
    filter: EVERYTHING,
    instructions: { own: undefined, upstreams: true },
  }),
);

class Run {
  readonly servers: Server[];
  readonly world: World;
  readonly #accessOf: ReturnType<typeof policyOf>;
  /** What those who listen know of, and whether they were told since that it changed. */
  readonly #listening = new Map<User, { known: string; told: boolean }>();

  constructor(servers: readonly Server[], accessRules: unknown) {
    this.servers = [...servers];
    const ids = servers.map((_, n) => `u${n}`);
    this.#accessOf = policyOf(
      JSON.stringify(accessRules),
      JSON.stringify(Object.fromEntries(ids.map((id) => [id, { url: 'http://host/mcp' }]))),
    );
    const scripts = ids.map((id, n) => [id, scriptOf(() => this.servers[n] as Server)] as const);
    this.world = createWorld(Object.fromEntries(scripts), {
      options: {
        pollEvery: (_id, _kind, { ttlMs = 0 }) => (ttlMs > 0 ? ttlMs : TTL),
        onSwap: (swap) => {
          for (const [id, listener] of this.#listening) {
            const mine =
              swap.owner === undefined ? this.world.store.follows(user(id)) : swap.owner === user(id).grant;
            if (
              mine &&
              changesSeen(ENTRANCES[0]?.selection ?? { style: 'dotted' }, this.#sight(id), swap).length > 0
            ) {
              listener.told = true;
            }
          }
        },
      },
    });
  }

  async start(): Promise<void> {
    const shared = this.servers.flatMap(({ own }, n) => (own ? [] : [this.world.store.refresh(`u${n}`)]));
    await Promise.all([...shared, this.settle()]);
  }

  async take(step: Step): Promise<void> {
    switch (step.does) {
      case 'offer':
        this.#change(step.server, (old) => ({ offers: { ...old.offers, [step.kind]: step.offer } }));
        break;
      case 'hints':
        this.#change(step.server, () => ({ hints: step.hints }));
        break;
      case 'refuse':
        this.#change(step.server, () => ({ refuses: step.users }));
        break;
      case 'wait':
        // Nobody says a word: the ttl is what is left.
        this.#change(step.server, (old) => ({ offers: { ...old.offers, [step.kind]: step.offer } }), false);
        await this.world.time.advance(2 * TTL);
        break;
      case 'list':
        await this.#check(step.who);
        break;
      case 'listen':
        if (!this.#listening.has(step.who)) {
          this.world.store.listen(by(step.who));
          await this.settle();
          this.#listening.set(step.who, { known: this.#seen(step.who), told: false });
        }
        break;
      case 'forget':
        // As if memory were short: whoever does not listen is forgotten.
        this.world.budget.hold('x' as never, 64 * 1024 * 1024, () => {});
        this.world.budget.release('x' as never);
        break;
    }
    await this.settle();
    for (const [id, listener] of this.#listening) {
      const now = this.#seen(id);
      expect({ id, told: listener.told }).toEqual({ id, told: now !== listener.known });
      listener.known = now;
      listener.told = false;
    }
  }

  async checkAll(): Promise<void> {
    for (const id of USERS) {
      await this.#check(id);
    }
    this.world.store.close();
  }

  /** Lets everything that was set going come to its end. */
  settle(): Promise<void> {
    return this.world.time.advance(40 * DEBOUNCE);
  }

  #change(at: number, how: (old: Server) => Partial<Server>, tell = true): void {
    const n = at % this.servers.length;
    const old = this.servers[n] as Server;
    this.servers[n] = { ...old, ...how(old) };
    for (const change of tell ? CHANGES : []) {
      if (old.own) {
        for (const id of USERS) {
          this.world.store.invalidate(`u${n}`, change, user(id).key);
        }
      } else {
        this.world.store.invalidate(`u${n}`, change);
      }
    }
  }

  /** Lists, in each style, and compares with a gateway that keeps nothing. */
  async #check(id: User): Promise<void> {
    const upstreams = this.servers.map((_, n) => `u${n}`);
    const catalog = await this.world.store.ready(by(id), upstreams, 1_000);
    const expected = naive(this.servers, id);
    for (const { selection } of ENTRANCES) {
      for (const each of KINDS) {
        const items = (from: Catalog) =>
          viewOf(from, selection, this.#sight(id))
            .list(each)
            .map(({ item }) => item);
        expect({ id, kind: each, items: items(catalog) }).toEqual({ id, kind: each, items: items(expected) });
      }
    }
  }

  /** What this user would be shown in the default view right now, in no order. */
  #seen(id: User): string {
    const view = viewOf(naive(this.servers, id), { style: 'dotted' }, this.#sight(id));
    return KINDS.map((each) =>
      JSON.stringify(
        view
          .list(each)
          .map(({ item }) => JSON.stringify(item))
          .toSorted(),
      ),
    ).join();
  }

  #sight(id: User) {
    return sightOf({ entrance: ENTRANCES[0] as Entrance, access: this.#accessOf(user(id)) });
  }
}

it('C-052: what a user sees equals the merged list computed without caches, and every change of it is told', async () => {
  const scenario = fc.record({
    servers: fc.array(server, { minLength: 1, maxLength: 4 }),
    accessRules: rules,
    steps: fc.array(step, { maxLength: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ servers, accessRules, steps }) => {
      const run = new Run(servers, accessRules);
      await run.start();
      for (const each of steps) {
        await run.take(each);
      }
      await run.checkAll();
    }),
    { numRuns: 150, interruptAfterTimeLimit: 8_000, endOnFailure: false },
  );
});
