import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

/** What Claude, OpenAI and others let a tool be called. */
const STRICTEST = /^[a-zA-Z0-9_-]{1,64}$/;

/** Every tool tells which server it was called on, and under which name. */
function telling(id: string, tools: readonly string[]): Script {
  const prompts = tools.map((name) => ({ name }));
  return { id, tools, prompts, calls: Object.fromEntries(tools.map((name) => [name, { does: 'whoami' }])) };
}

/** A gateway whose lists are read, in front of these tools by upstream id; ended with the scope. */
async function inFrontOf(
  offers: Readonly<Record<string, readonly string[]>>,
  config: Omit<GatewayConfig, 'upstreams'> = {},
  entries: Readonly<Record<string, JsonObject>> = {},
): Promise<{ gateway: StartedGateway } & AsyncDisposable> {
  const scope = new AsyncDisposableStack();
  const upstreams: Record<string, unknown> = {};
  for (const [id, tools] of Object.entries(offers)) {
    const up = scope.use(await startHttpUpstream(telling(id, tools)));
    upstreams[id] = { ...up.config, ...entries[id] };
  }
  const gateway = scope.use(await startGateway({ ...config, upstreams }));
  await gateway.gateway.settled();
  return { gateway, [Symbol.asyncDispose]: () => scope.disposeAsync() };
}

/** Where a call of this name ends up: `<upstream>/<original name>`. */
async function landing(agent: Agent, name: string): Promise<string> {
  const { structured } = await agent.call(name);
  return `${structured['id']}/${structured['name']}`;
}

async function landings(agent: Agent): Promise<Record<string, string>> {
  const names = await agent.names();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await landing(agent, name)] as const)),
  );
}

/** What the log says about names of tools, one line a finding. */
const warnings = (gateway: StartedGateway, finding: string) =>
  gateway.logged.filter(
    (line) => line['finding'] === finding && line['kind'] === 'tools' && Number(line['level']) >= 40,
  );

const unknown = (agent: Agent, name: string) =>
  agent.request('tools/call', { name, arguments: {} }).then(({ error }) => error?.code);

describe('C-001: two servers with the same tools', () => {
  let stage: Awaited<ReturnType<typeof startStdioUpstream>>;
  let prod: Awaited<ReturnType<typeof startStdioUpstream>>;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await startStdioUpstream(telling('stage', ['search', 'run']));
    prod = await startStdioUpstream(telling('prod', ['search', 'run']));
    gateway = await startGateway({ upstreams: { stage: stage.config, prod: prod.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await stage?.[Symbol.asyncDispose]();
    await prod?.[Symbol.asyncDispose]();
  });

  describe.each(AGENTS)('for a $era client', ({ connect }) => {
    it('are four tools, and each call reaches its own process under the original name', async () => {
      await using agent = await connect(gateway.url);
      expect(await agent.names()).toEqual(['stage.search', 'stage.run', 'prod.search', 'prod.run']);
      const served = async (name: string) => (await agent.call(name)).structured;
      expect(await served('stage.run')).toMatchObject({ pid: stage.pids[0], name: 'run' });
      expect(await served('prod.run')).toMatchObject({ pid: prod.pids[0], name: 'run' });
      expect(await served('stage.search')).toMatchObject({ pid: stage.pids[0], name: 'search' });
      expect(await served('prod.search')).toMatchObject({ pid: prod.pids[0], name: 'search' });
    });

    it.each(['search', 'run', 'stage', 'stage.', '.run', 'Stage.run', 'stage.run ', 'stage..run'])(
      'have no tool called "%s"',
      async (name) => {
        await using agent = await connect(gateway.url);
        const calls = async () => {
          // Children report what they received on a line of its own: what they say next comes after all of it.
          await Promise.all([stage.release('nothing'), prod.release('nothing')]);
          return stage.count('tools/call') + prod.count('tools/call');
        };
        const before = await calls();
        expect(await unknown(agent, name)).toBe(-32602);
        expect(await calls()).toBe(before);
      },
    );

    it('and their prompts likewise', async () => {
      await using agent = await connect(gateway.url);
      expect(await agent.names('prompts')).toEqual(['stage.search', 'stage.run', 'prod.search', 'prod.run']);
      expect(await agent.result('prompts/get', { name: 'prod.run' })).toMatchObject({
        messages: [{ content: { text: expect.stringContaining('run of prod') } }],
      });
    });
  });
});

describe('C-002: names that splitting would send to the wrong server', () => {
  it.each([
    { separator: '_', offers: { a: ['b_c'], a_b: ['c'] }, both: 'a_b_c' },
    { separator: '-', offers: { redis: ['ft-search'], 'redis-ft': ['search'] }, both: 'redis-ft-search' },
    { separator: '__', offers: { x_: ['y'], x: ['_y'] }, both: 'x___y' },
  ])(
    'with "$separator", two pairs that make $both get two other names',
    async ({ offers, both, ...naming }) => {
      await using started = await inFrontOf(offers, { naming });
      await using agent = await connectModern(started.gateway.url);
      const found = await landings(agent);
      const pairs = Object.entries(offers).flatMap(([id, names]) => names.map((name) => `${id}/${name}`));
      expect(Object.values(found)).toEqual(pairs);
      expect(Object.keys(found)).not.toContain(both);
      expect(await unknown(agent, both)).toBe(-32602);
      const told = warnings(started.gateway, 'name.collided').map(
        ({ upstream, item }) => `${upstream}/${item}`,
      );
      expect(told.toSorted()).toEqual(pairs.toSorted());
    },
  );

  it('a map decides, whatever dots there are: tools that begin with one, ids that begin with an id', async () => {
    const offers = {
      redis: ['.hidden', 'ft.search', 'ft'],
      'redis-ft': ['search', '..'],
      bare: ['redis.ft'],
    };
    await using started = await inFrontOf(offers, {}, { bare: { namespace: '' } });
    await using agent = await connectLegacy(started.gateway.url);
    const found = await landings(agent);
    expect(Object.values(found)).toEqual([
      'redis/.hidden',
      'redis/ft.search',
      'redis/ft',
      'redis-ft/search',
      'redis-ft/..',
      'bare/redis.ft',
    ]);
    expect(found).toMatchObject({
      'redis..hidden': 'redis/.hidden',
      'redis.ft.search': 'redis/ft.search',
      'redis-ft...': 'redis-ft/..',
    });
    // `redis.ft` would be two tools: it is neither.
    expect(Object.keys(found)).not.toContain('redis.ft');
    expect(await unknown(agent, 'redis.ft')).toBe(-32602);
  });
});

describe('C-003: tools of one server that cleaning would make equal', () => {
  const tools = ['search-a', 'search_a', 'search a', 'search/a'];

  it('keep their names where nothing has to be cleaned', async () => {
    await using started = await inFrontOf({ up: tools });
    await using agent = await connectModern(started.gateway.url);
    expect(await landings(agent)).toEqual(
      Object.fromEntries(tools.map((name) => [`up.${name}`, `up/${name}`])),
    );
  });

  it('stay distinct in strict names, in any order and after a restart', async () => {
    await using started = await inFrontOf({ up: tools });
    await using turned = await inFrontOf({ up: tools.toReversed() });
    const strictly = async (gateway: StartedGateway) => {
      await using agent = await connectModern(`${gateway.url}?names=strict`);
      return await landings(agent);
    };
    const found = await strictly(started.gateway);
    expect(Object.values(found)).toEqual(tools.map((name) => `up/${name}`));
    expect(Object.keys(found).filter((name) => !STRICTEST.test(name))).toEqual([]);
    expect(await strictly(turned.gateway)).toEqual(found);
    await started.gateway.restart();
    await started.gateway.gateway.settled();
    expect(await strictly(started.gateway)).toEqual(found);
  });
});

describe('C-004: hosts that refuse a dot', () => {
  let files: ScriptedUpstream;
  let tickets: ScriptedUpstream;
  let dotted: StartedGateway;
  let strict: StartedGateway;

  beforeAll(async () => {
    files = await startHttpUpstream({ ...telling('files', ['read', 'read.all']), resources: ['note://one'] });
    tickets = await startHttpUpstream(telling('tickets', ['read', 'größe']));
    const upstreams = { files: files.config, tickets: tickets.config };
    dotted = await startGateway({ upstreams });
    strict = await startGateway({ naming: { style: 'strict' }, upstreams });
    await Promise.all([dotted.gateway.settled(), strict.gateway.settled()]);
  });

  afterAll(async () => {
    await dotted?.close();
    await strict?.close();
    await files?.[Symbol.asyncDispose]();
    await tickets?.[Symbol.asyncDispose]();
  });

  const KINDS = ['tools', 'prompts', 'resources', 'templates'] as const;
  const listsOf = async (agent: Agent) =>
    Object.fromEntries(await Promise.all(KINDS.map(async (kind) => [kind, await agent.list(kind)] as const)));
  const nameless = (lists: Record<string, readonly JsonObject[]>) =>
    Object.entries(lists).map(([kind, items]) => [
      kind,
      items.map(({ name: _, ...rest }) => (kind === 'resources' ? { ...rest, name: _ } : rest)),
    ]);

  it.each(AGENTS)(
    'a $era client gets the dotted names unless something else is said',
    async ({ connect }) => {
      await using agent = await connect(dotted.url);
      expect(await agent.names()).toEqual(['files.read', 'files.read.all', 'tickets.read', 'tickets.größe']);
    },
  );

  it.each(AGENTS)(
    'by the query or by the configuration a $era client gets strict ones; nothing else differs',
    async ({ connect }) => {
      await using plain = await connect(dotted.url);
      await using asked = await connect(`${dotted.url}?names=strict`);
      await using configured = await connect(strict.url);
      await using outranked = await connect(`${strict.url}?names=dotted`);
      const lists = await listsOf(plain);
      const strictLists = await listsOf(asked);
      expect(await listsOf(configured)).toEqual(strictLists);
      expect(await listsOf(outranked)).toEqual(lists);
      expect(nameless(strictLists)).toEqual(nameless(lists));
      const names = [...(strictLists['tools'] ?? []), ...(strictLists['prompts'] ?? [])].map(
        ({ name }) => name,
      );
      expect(names).toHaveLength(8);
      expect(names.filter((name) => !STRICTEST.test(String(name)))).toEqual([]);
      expect(asked.hello).toEqual(plain.hello);
    },
  );

  it.each(AGENTS)(
    'both forms lead a $era client to one and the same tool, in either style',
    async (client) => {
      for (const url of [
        dotted.url,
        `${dotted.url}?names=strict`,
        strict.url,
        `${strict.url}?names=dotted`,
      ]) {
        await using agent = await client.connect(url);
        expect(await landing(agent, 'files.read')).toBe('files/read');
        expect(await landing(agent, 'files__read')).toBe('files/read');
        expect(Object.values(await landings(agent))).toEqual([
          'files/read',
          'files/read.all',
          'tickets/read',
          'tickets/größe',
        ]);
      }
    },
  );

  it('a style that does not exist is refused, and not taken for the default', async () => {
    await using agent = await connectModern(`${dotted.url}?names=snake`, { greet: false });
    const { status, error } = await agent.request('tools/list');
    expect([status, error?.code]).toEqual([400, -32600]);
    expect(error?.message).toContain('dotted or strict');
  });
});

describe('C-005: names that would be too long', () => {
  const id = 'a-server-with-a-long-id-';
  const shared = 'x'.repeat(110);
  const tools = ['t'.repeat(59), 'h'.repeat(104), `${shared}${'a'.repeat(18)}`, `${shared}${'b'.repeat(18)}`];
  /** What does not fit in the dotted style either: nothing is wrong with a name that is long in strict style only. */
  const cut = tools.slice(1);

  it.each([
    { style: 'dotted', query: '', most: 128, fits: 1 },
    { style: 'strict', query: '?names=strict', most: 52, fits: 0 },
  ])(
    'are cut to $most in the $style style, stay distinct, and can be called',
    async ({ query, most, fits }) => {
      await using started = await inFrontOf({ [id]: tools });
      const { gateway } = started;
      const read = async () => {
        await using agent = await connectModern(`${gateway.url}${query}`);
        return await landings(agent);
      };
      const found = await read();
      expect(Object.values(found)).toEqual(tools.map((name) => `${id}/${name}`));
      expect(Object.keys(found).filter((name) => name.length > most)).toEqual([]);
      expect(Object.keys(found).filter((name) => name.endsWith(tools[0] ?? ''))).toHaveLength(fits);
      const told = warnings(gateway, 'name.shortened');
      expect(told.map(({ upstream, item }) => [upstream, item])).toEqual(cut.map((name) => [id, name]));
      await gateway.restart();
      await gateway.gateway.settled();
      expect(await read()).toEqual(found);
    },
  );

  it('obey a lower limit of the configuration too', async () => {
    await using started = await inFrontOf({ [id]: tools, b: ['short'] }, { naming: { maxLength: 40 } });
    await using agent = await connectLegacy(started.gateway.url);
    const found = await landings(agent);
    expect(Object.values(found)).toEqual([...tools.map((name) => `${id}/${name}`), 'b/short']);
    expect(Object.keys(found).filter((name) => name.length > 40)).toEqual([]);
    expect(Object.keys(found)).toContain('b.short');
  });
});
