import { describe, expect, it } from 'vitest';
import type { ScopeKey } from '../../../src/access/cache-scope.ts';
import { ANONYMOUS, type Principal } from '../../../src/access/principal.ts';
import { Budget } from '../../../src/base/budget.ts';
import { type JsonObject, stringAt } from '../../../src/base/json.ts';
import { ReplyCache } from '../../../src/relay/reply-cache.ts';
import { person } from '../access/people.ts';

const USERS = Array.from({ length: 100 }, (_, n) => person({ id: `user-${n}` }));
const [ANN = ANONYMOUS, BOB = ANONYMOUS] = USERS;
const PUBLIC = { ttlMs: 1_000, cacheScope: 'public' };
const PRIVATE = { ttlMs: 1_000, cacheScope: 'private' };

/** One upstream that answers whoever asks with who that is, behind a cache with a clock of its own. */
function createWorld(
  about: { own?: boolean; scope?: 'auto' | 'private'; trustPublic?: boolean; bytes?: number } = {},
) {
  const { own = false, scope = 'auto', trustPublic = false, bytes = 1_000_000 } = about;
  const asked: string[] = [];
  let time = 1_000;
  let hints: JsonObject = {};
  let held: Promise<void> | undefined;
  let release = () => {};
  const budget = new Budget<ScopeKey>(bytes);
  const cache = new ReplyCache({
    scoped: () => ({ own, scope, trustPublic }),
    budget,
    now: () => time,
  });
  const read = (
    principal: Principal,
    params: JsonObject = {},
    upstream = 'up',
    signal = new AbortController().signal,
  ) => {
    const sent = { uri: 'note://a/b', ...params };
    return cache.read(
      { upstream, uri: stringAt(sent, 'uri') ?? '', params: sent },
      { principal, signal },
      async () => {
        asked.push(principal.id);
        const answer = { contents: [{ uri: sent.uri, text: principal.id }], ...hints };
        await held;
        if (hints['fails'] !== undefined) {
          throw new Error('out of order');
        }
        return answer;
      },
    );
  };
  return {
    cache,
    budget,
    asked,
    read,
    textOf: async (...args: Parameters<typeof read>) => {
      const { contents } = await read(...args);
      return Array.isArray(contents) ? stringAt(contents[0], 'text') : undefined;
    },
    hint: (next: JsonObject) => {
      hints = next;
    },
    pass: (ms: number) => {
      time += ms;
    },
    hold: () => {
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => {
      held = undefined;
      release();
    },
  };
}

describe('whose a reply is', () => {
  it('a public one is read once for 100 users, also at once', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    world.hold();
    const all = Promise.all([...USERS, ...USERS].map((each) => world.textOf(each)));
    world.release();
    expect(new Set(await all)).toEqual(new Set(['user-0']));
    expect(world.asked).toEqual(['user-0']);
  });

  it.each([
    ['private', {}, PRIVATE],
    ['public, but the configuration says private', { scope: 'private' }, PUBLIC],
    ['public from a server that knows who asks, and is not trusted', { own: true }, PUBLIC],
    ['without a scope from a server that knows who asks', { own: true, trustPublic: true }, { ttlMs: 1_000 }],
  ] as const)(
    'one that is %s is read once for each of 100 users, also twice at once',
    async (_what, about, hints) => {
      const world = createWorld(about);
      world.hint(hints);
      world.hold();
      const all = Promise.all([...USERS, ...USERS].map((each) => world.textOf(each)));
      world.release();
      expect(await all).toEqual([...USERS, ...USERS].map(({ id }) => id));
      expect(world.asked.toSorted()).toEqual(USERS.map(({ id }) => id).toSorted());
      await Promise.all(USERS.map((each) => world.textOf(each)));
      expect(world.asked).toHaveLength(100);
    },
  );

  it('is told so, with the time that is left', async () => {
    const world = createWorld({ own: true });
    world.hint(PUBLIC);
    expect(await world.read(ANN)).toMatchObject({ ttlMs: 1_000, cacheScope: 'private' });
    world.pass(400);
    expect(await world.read(ANN)).toMatchObject({ ttlMs: 600, cacheScope: 'private' });
    const shared = createWorld();
    shared.hint(PUBLIC);
    await shared.read(ANN);
    expect(await shared.read(BOB)).toMatchObject({ ttlMs: 1_000, cacheScope: 'public' });
  });
});

describe('what is kept', () => {
  it.each([
    ['no hint at all', {}],
    ['a ttl of 0', { ttlMs: 0, cacheScope: 'public' }],
    ['a negative ttl', { ttlMs: -5, cacheScope: 'public' }],
    ['a ttl that is no number', { ttlMs: '1000', cacheScope: 'public' }],
    ['a ttl without end', { ttlMs: Number.POSITIVE_INFINITY, cacheScope: 'public' }],
    ['input_required', { ...PUBLIC, resultType: 'input_required' }],
    ['a task', { ...PUBLIC, resultType: 'task' }],
  ])('not what comes with %s', async (_what, hints) => {
    const world = createWorld();
    world.hint(hints);
    expect([await world.textOf(ANN), await world.textOf(BOB), await world.textOf(ANN)]).toEqual([
      'user-0',
      'user-1',
      'user-0',
    ]);
    expect(world.budget.used).toBe(0);
  });

  it('until its ttl is over, to the millisecond', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    await world.read(ANN);
    world.pass(999);
    expect(await world.textOf(BOB)).toBe('user-0');
    world.pass(1);
    expect(await world.textOf(BOB)).toBe('user-1');
  });

  it.each([{ inputResponses: {} }, { requestState: 'x' }])(
    'never the answer to a retry: %o',
    async (retry) => {
      const world = createWorld();
      world.hint(PUBLIC);
      expect(await world.textOf(ANN, retry)).toBe('user-0');
      expect(await world.textOf(BOB, retry)).toBe('user-1');
      expect(await world.textOf(BOB)).toBe('user-1');
      expect(await world.textOf(ANN, retry)).toBe('user-0');
    },
  );

  it('for the same request only: params and what travels end to end in `_meta` count, what is one hop’s does not', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    await world.read(ANN);
    const same = [
      { _meta: { progressToken: 7 } },
      {
        _meta: {
          'io.modelcontextprotocol/clientInfo': { name: 'x' },
          traceparent: '00-1',
          tracestate: 'a=b',
        },
      },
    ];
    for (const params of same) {
      expect(await world.textOf(BOB, params)).toBe('user-0');
    }
    const others = [{ uri: 'note://c' }, { range: 'half' }, { _meta: { 'example.com/locale': 'de' } }];
    for (const params of others) {
      expect(await world.textOf(BOB, params)).toBe('user-1');
      expect(await world.textOf(ANN, params)).toBe('user-1');
    }
    expect(await world.textOf(BOB, {}, 'other')).toBe('user-1');
  });

  it('within its bytes: what was used longest ago goes first', async () => {
    const world = createWorld({ bytes: 1_300 });
    world.hint(PUBLIC);
    for (const uri of ['note://1', 'note://2', 'note://3', 'note://1', 'note://4']) {
      await world.read(ANN, { uri });
    }
    expect(world.budget.used).toBeLessThanOrEqual(1_300);
    expect(await world.textOf(BOB, { uri: 'note://1' })).toBe('user-0');
    expect(await world.textOf(BOB, { uri: 'note://2' })).toBe('user-1');
  });

  it('no error; whoever waited asks by itself', async () => {
    const world = createWorld();
    world.hint({ fails: true });
    world.hold();
    const all = Promise.allSettled([ANN, BOB, ANN].map((each) => world.read(each)));
    world.release();
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    world.hint(PUBLIC);
    expect(await world.textOf(BOB)).toBe('user-1');
  });

  it('and whoever waits no longer than its client does', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    world.hold();
    const first = world.read(ANN);
    const client = new AbortController();
    const second = world.read(BOB, {}, 'up', client.signal);
    client.abort();
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
    world.release();
    await first;
    expect(world.asked).toEqual(['user-0']);
  });
});

describe('what is forgotten', () => {
  it('all of an upstream, for everybody; nothing of another', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    await world.read(ANN);
    await world.read(ANN, {}, 'other');
    world.cache.forget('up');
    expect(await world.textOf(BOB)).toBe('user-1');
    expect(await world.textOf(BOB, {}, 'other')).toBe('user-0');
  });

  it('what is one user’s and what is everybody’s by a notice to that user; not what is another’s', async () => {
    const world = createWorld();
    world.hint(PRIVATE);
    await world.read(ANN);
    await world.read(BOB);
    world.cache.forget('up', ANN.key);
    await world.read(ANN);
    await world.read(BOB);
    expect(world.asked).toEqual(['user-0', 'user-1', 'user-0']);
    world.cache.forgetUri('up', 'note://a/b', BOB.key);
    await world.read(ANN);
    await world.read(BOB);
    expect(world.asked).toEqual(['user-0', 'user-1', 'user-0', 'user-1']);
  });

  it('one resource that changed, and those it is a part of', async () => {
    const world = createWorld();
    world.hint(PUBLIC);
    const uris = ['note://a', 'note://a/', 'note://a/b', 'note://a/b/c', 'note://a/bc', 'other://a/b'];
    for (const uri of uris) {
      await world.read(ANN, { uri });
    }
    world.cache.forgetUri('up', 'note://a/b');
    const left = await Promise.all(uris.map((uri) => world.textOf(BOB, { uri })));
    expect(left).toEqual(['user-1', 'user-1', 'user-1', 'user-0', 'user-0', 'user-0']);
  });

  it.each([
    ['the resources changed', (cache: ReplyCache) => cache.forget('up')],
    ['the resource changed', (cache: ReplyCache) => cache.forgetUri('up', 'note://a/b')],
  ])('also what is being read while %s', async (_what, forget) => {
    const world = createWorld();
    world.hint(PUBLIC);
    world.hold();
    const first = world.textOf(ANN);
    forget(world.cache);
    world.release();
    expect(await first).toBe('user-0');
    expect(await world.textOf(BOB)).toBe('user-1');
  });
});
