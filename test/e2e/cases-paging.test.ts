import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { KIND_FACTS, KINDS, type Kind } from '../../src/protocol/model.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const TOOLS = 'notifications/tools/list_changed';
const numbered = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word}${n + 1}`);

const LONG: Script = {
  id: 'up',
  tools: numbered('t', 101),
  prompts: numbered('p', 60),
  resources: numbered('note://r', 60),
  templates: numbered('note://{x}/', 60),
  pageSize: 50,
};

/** The names as clients see them: tools and prompts carry the id, URIs do not. */
const exposed = (script: Script, kind: Kind) =>
  (script[kind] ?? []).map((name) =>
    kind === 'tools' || kind === 'prompts' ? `${script.id}.${name}` : name,
  );

describe.each(FILLINGS)(
  'C-015: a $era server over $carrier with several pages of everything',
  ({ era, start }) => {
    let up: ScriptedUpstream;
    let gateway: StartedGateway;

    beforeAll(async () => {
      up = await start({ ...LONG, era });
      gateway = await startGateway({ upstreams: { up: up.config } });
      await gateway.gateway.settled();
    });

    afterAll(async () => {
      await gateway?.close();
      await up?.[Symbol.asyncDispose]();
    });

    it.each(AGENTS)('a $era client gets all of it, and the last of each works', async ({ connect }) => {
      await using agent = await connect(gateway.url);
      for (const kind of KINDS) {
        expect(await agent.names(kind)).toEqual(exposed(LONG, kind));
        const { result } = await agent.request(KIND_FACTS[kind].list);
        expect(result, 'in one page').not.toHaveProperty('nextCursor');
      }
      expect((await agent.call('up.t101', { n: 101 })).structured).toEqual({ n: 101 });
      expect(await agent.result('prompts/get', { name: 'up.p60' })).toMatchObject({ messages: [{}] });
      expect(await agent.result('resources/read', { uri: 'note://r60' })).toMatchObject({
        contents: [{ uri: 'note://r60', text: 'note://r60 of up' }],
      });
    });

    it('a page that fails in a refresh: the last whole list stays, marked, tells nobody, and is read again', async () => {
      await using agent = await connectModern(gateway.url);
      await using notices = await agent.listen();
      await up.untilListening();
      const error = { code: -32603, message: 'page two is broken' };
      await up.change({ tools: ['other'], faults: [{ on: 'tools/list', times: 1, do: { error } }] });
      const after = up.mark();
      await up.notify('tools');
      await up.untilReceived('tools/list', undefined, { after });
      const state = () => gateway.gateway.readiness().upstreams['up']?.state;
      await expect.poll(state).toBe('stale');
      expect(await agent.names()).toEqual(exposed(LONG, 'tools'));
      expect((await agent.call('up.t101', { still: 1 }).catch((thrown) => thrown)).code).toBe(-32602);
      await notices.next(TOOLS);
      expect(await agent.names()).toEqual(['up.other']);
      expect(state()).toBe('ready');
      expect(notices.count(TOOLS)).toBe(1);
    });
  },
);

describe('C-015: the second page of a refresh fails', () => {
  it('no part of the new list is published, and no notice is sent for it', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['a', 'b', 'c', 'd'], pageSize: 2 });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    await up.untilListening();
    await using agent = await connectLegacy(gateway.url);
    await using notices = await agent.listen();
    const fault = { on: 'tools/list', page: 2, times: 2, do: { error: { code: -32603, message: 'no' } } };
    await up.change({ tools: ['v', 'w', 'x', 'y'], faults: [fault] });
    const after = up.mark();
    await up.notify('tools');
    // Two whole walks have failed when the third begins.
    const firstPage = ({ params }: { params: JsonObject }) => params['cursor'] === undefined;
    await up.untilReceived('tools/list', firstPage, { after, times: 2 });
    expect(await agent.names()).toEqual(['up.a', 'up.b', 'up.c', 'up.d']);
    expect(notices.count(TOOLS)).toBe(0);
    await notices.next(TOOLS);
    expect(await agent.names()).toEqual(['up.v', 'up.w', 'up.x', 'up.y']);
    expect(notices.count(TOOLS)).toBe(1);
  });
});

describe('cursors of a server that lead nowhere', () => {
  let misled: ScriptedUpstream[];
  let good: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    const tools = ['a', 'b', 'c', 'd'];
    const page2 = { tools: ['c', 'd'].map((name) => ({ name, inputSchema: { type: 'object' } })) };
    misled = await Promise.all([
      startHttpUpstream({ id: 'same', tools, pageSize: 2, cursors: { tools: 'same' } }),
      startStdioUpstream({ id: 'cycle', tools, pageSize: 2, cursors: { tools: 'cycle' } }),
      startHttpUpstream({ id: 'endless', tools, pageSize: 2, cursors: { tools: 'endless' } }),
      startHttpUpstream({
        id: 'repeats',
        tools,
        pageSize: 2,
        faults: [{ on: 'tools/list', page: 2, do: { result: { ...page2, nextCursor: 'page-2' } } }],
      }),
      startHttpUpstream({
        id: 'odd',
        tools,
        faults: [{ on: 'tools/list', do: { result: { ...page2, nextCursor: 7 } } }],
      }),
    ]);
    good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    gateway = await startGateway({
      upstreams: Object.fromEntries([...misled, good].map(({ id, config }) => [id, config])),
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all([...(misled ?? []), good].map((each) => each?.[Symbol.asyncDispose]()));
  });

  it.each(AGENTS)(
    'C-016, C-018: a $era client gets each item once, and no walk of it loops',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const names = await agent.names();
      expect(names).toEqual([
        'same.a',
        'same.b',
        'cycle.a',
        'cycle.b',
        'cycle.c',
        'cycle.d',
        'repeats.a',
        'repeats.b',
        'repeats.c',
        'repeats.d',
        'good.fine',
      ]);
      expect((await agent.call('repeats.d', { n: 4 })).structured).toEqual({ n: 4 });
    },
  );

  it('C-016, C-018: the walk ends at once, and the log names the server', async () => {
    const pages = (id: string) => misled.find((each) => each.id === id)?.count('tools/list');
    expect(pages('same')).toBe(2);
    // One cursor leads back to the first page: it is read once more before that shows.
    expect(pages('cycle')).toBe(3);
    expect(pages('repeats')).toBe(2);
    const warned = gateway.logged.filter(({ finding }) => finding === 'list.cursor-repeats');
    expect(warned.map(({ upstream }) => upstream).toSorted()).toEqual(['cycle', 'repeats', 'same']);
    const failed = () => gateway.logged.filter(({ msg }) => /a list could not be read/.test(String(msg)));
    await expect
      // One is walked up to the bound of pages.
      .poll(() => failed().map(({ upstream }) => upstream), { timeout: 45_000 })
      .toEqual(expect.arrayContaining(['endless', 'odd']));
    const { upstreams } = gateway.gateway.readiness();
    expect([upstreams['good']?.state, upstreams['repeats']?.state]).toEqual(['ready', 'ready']);
    expect([upstreams['endless']?.state, upstreams['endless']?.tools]).toEqual(['stale', 0]);
  });

  it('C-016: slow pages have one deadline in all, and hold nobody else up', async () => {
    await using slow = await startHttpUpstream({
      id: 'slow',
      tools: numbered('t', 100),
      pageSize: 1,
      faults: [{ on: 'tools/list', do: { hold: 'page' } }],
    });
    await using started = await startGateway({
      lists: { firstWait: '100ms' },
      upstreams: { slow: slow.config, good: good.config },
    });
    await slow.untilReceived('tools/list');
    await using agent = await connectModern(started.url);
    expect(await agent.untilNames((names) => names.includes('good.fine'))).toEqual(['good.fine']);
    expect((await agent.call('good.fine', { n: 1 })).structured).toEqual({ n: 1 });
    await started.close();
    await slow.untilReceived('$closed');
  });
});

describe('C-019: pages of 20 over three servers with 65 tools', () => {
  let ups: ScriptedUpstream[];
  let gateway: StartedGateway;
  const offers = { one: numbered('a', 30), two: numbered('b', 25), three: numbered('c', 10) };
  const everything = Object.entries(offers).flatMap(([id, tools]) => tools.map((name) => `${id}.${name}`));

  beforeAll(async () => {
    ups = await Promise.all(
      Object.entries(offers).map(([id, tools]) =>
        startHttpUpstream({ id, tools, prompts: numbered('p', 12) }),
      ),
    );
    gateway = await startGateway({
      lists: { pageSize: 20 },
      upstreams: Object.fromEntries(ups.map(({ id, config }) => [id, config])),
    });
    await gateway.gateway.settled();
    await Promise.all(ups.map((up) => up.untilListening()));
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all((ups ?? []).map((up) => up[Symbol.asyncDispose]()));
  });

  const page = async (agent: Agent, cursor?: string, list = 'tools/list') => {
    const result = await agent.result(list, cursor === undefined ? {} : { cursor });
    const items = (result['tools'] ?? result['prompts']) as JsonObject[];
    return { names: items.map(({ name }) => String(name)), next: result['nextCursor'] as string | undefined };
  };
  const rest = async (agent: Agent, from: string | undefined) => {
    const names: string[] = [];
    for (let cursor = from; cursor !== undefined; ) {
      const got = await page(agent, cursor);
      names.push(...got.names);
      cursor = got.next;
    }
    return names;
  };
  const refusal = (agent: Agent, cursor: unknown, list = 'tools/list') =>
    agent.request(list, { cursor }).then(({ error, result }) => error?.code ?? result);

  describe.each(AGENTS)('a $era client', ({ connect }) => {
    it('walks them in one order, page by page', async () => {
      await using agent = await connect(gateway.url);
      const sizes: number[] = [];
      const names: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const got = await page(agent, cursor);
        sizes.push(got.names.length);
        names.push(...got.names);
        cursor = got.next;
        if (cursor === undefined) {
          break;
        }
      }
      expect(sizes).toEqual([20, 20, 20, 5]);
      expect(names).toEqual(everything);
    });

    it('sees each tool that was there throughout once, though they change between its pages', async () => {
      await using agent = await connect(gateway.url);
      const first = await page(agent);
      const [one, two] = ups;
      await one?.setTools(['added', ...offers.one.toReversed()]);
      await two?.setTools(offers.two.slice(1));
      await one?.notify('tools');
      await two?.notify('tools');
      await agent.untilNames((names) => names.includes('one.added') && !names.includes('two.b1'));
      const walked = [...first.names, ...(await rest(agent, first.next))];
      expect(new Set(walked).size).toBe(walked.length);
      const throughout = everything.filter((name) => name !== 'two.b1');
      expect(throughout.filter((name) => !walked.includes(name))).toEqual([]);
      await one?.setTools(offers.one);
      await two?.setTools(offers.two);
      await one?.notify('tools');
      await two?.notify('tools');
      await agent.untilNames((names) => names.join() === everything.join());
    });

    it('gets -32602 for a cursor that was made up, altered, or is of another list, style or endpoint', async () => {
      await using agent = await connect(gateway.url);
      await using strict = await connect(`${gateway.url}?names=strict`);
      await using single = await connect(`${gateway.url}/one`);
      const { next = '' } = await page(agent);
      expect(next).not.toBe('');
      const flipped = `${next.slice(0, 20)}${next[20] === 'A' ? 'B' : 'A'}${next.slice(21)}`;
      for (const cursor of ['bogus', '', '20', 20, {}, [next], true, flipped, `${next}A`, next.slice(1)]) {
        expect(await refusal(agent, cursor), JSON.stringify(cursor)).toBe(-32602);
      }
      expect(await refusal(agent, next, 'prompts/list')).toBe(-32602);
      expect(await refusal(strict, next)).toBe(-32602);
      expect(await refusal(single, next)).toBe(-32602);
      expect((await page(single)).names).toEqual(offers.one.slice(0, 20));
      expect((await page(agent, undefined, 'prompts/list')).names).toHaveLength(20);
    });
  });

  it('a gateway that was restarted in between goes on or says -32602, and never begins anew', async () => {
    await using agent = await connectModern(gateway.url);
    await using session = await connectLegacy(gateway.url);
    const first = await page(agent);
    const other = await page(session);
    await gateway.restart();
    await gateway.gateway.settled();
    for (const [each, { names, next }] of [
      [agent, first],
      [session, other],
    ] as const) {
      const outcome = await rest(each, next).catch((thrown) => thrown.code);
      if (outcome !== -32602) {
        expect([...names, ...outcome]).toEqual(everything);
      }
      expect(await each.names()).toEqual(everything);
    }
  });

  it('another gateway takes no cursor of this one', async () => {
    await using agent = await connectModern(gateway.url);
    const { next } = await page(agent);
    await using other = await startGateway({
      lists: { pageSize: 20 },
      upstreams: Object.fromEntries(ups.map(({ id, config }) => [id, config])),
    });
    await other.gateway.settled();
    await using foreign = await connectModern(other.url);
    expect(await refusal(foreign, next)).toBe(-32602);
  });

  it('a gateway that sends one page takes no cursor at all', async () => {
    await using whole = await startGateway({ upstreams: { one: ups[0]?.config } });
    await whole.gateway.settled();
    await using agent = await connectModern(whole.url);
    expect(await agent.result('tools/list')).not.toHaveProperty('nextCursor');
    expect(await refusal(agent, 'bogus')).toBe(-32602);
  });

  it('a walk of which a reload chooses other tools to be listed ends with -32602, and leaves none out', async () => {
    const listing = (pinned: readonly string[]) => ({
      lists: { pageSize: 2 },
      views: { few: { include: ['*'], mode: 'search', pinned } },
      upstreams: { one: ups[0]?.config },
    });
    const tools = (ups[0]?.script.tools ?? []).slice(0, 3).map((name) => `one.${String(name)}`);
    await using few = await startGateway(listing(tools));
    await few.gateway.settled();
    await using agent = await connectModern(`${few.url}/few`);
    const first = await agent.result('tools/list');
    const second = await agent.result('tools/list', { cursor: first['nextCursor'] });
    few.reload(listing(tools.slice(-1)));
    expect(await refusal(agent, String(second['nextCursor']))).toBe(-32602);
    expect(await agent.names()).toContain(tools.at(-1));
  });
});
