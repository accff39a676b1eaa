import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject, type JsonObject, objectAt } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const OWN = ['search_tools', 'describe_tools', 'call_tool'];

const tool = (name: string, description: string, args: readonly string[] = [], more: JsonObject = {}) => ({
  name,
  description,
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(args.map((arg) => [arg, { type: 'string' }])),
    required: args.slice(0, 1),
  },
  ...more,
});

/** Whoever asks may keep what these servers say, and give it to others. */
const SHARED = { ttlMs: 60_000, cacheScope: 'public' };

const TRACKER = [
  tool('create_issue', 'Open a new issue.', ['title', 'body'], { annotations: { destructiveHint: false } }),
  tool('list_issues', 'Issues of a project.', ['project'], { annotations: { readOnlyHint: true } }),
  tool('delete_issue', 'Remove an issue for good.', ['id']),
  tool('refresh', 'For the page alone.', [], {
    _meta: { ui: { resourceUri: 'ui://page', visibility: ['app'] } },
  }),
];

const entriesIn = ({ structured }: { readonly structured: JsonObject }) =>
  (Array.isArray(structured['tools']) ? structured['tools'] : []).filter(isObject);
const namesIn = (answer: { readonly structured: JsonObject }) => entriesIn(answer).map(({ name }) => name);

describe('a view that does not list every tool', () => {
  let tracker: ScriptedUpstream;
  let talk: ScriptedUpstream;
  let asks: ScriptedUpstream;
  let gateway: StartedGateway;
  const views = {
    few: { mode: 'search', pinned: ['talk.whoami'] },
    strict: { mode: 'search', naming: 'strict' },
    part: { mode: 'search', exclude: ['tracker.delete_*'] },
    grows: { mode: 'progressive', pinned: ['talk.whoami'], found: { most: 2 } },
    small: { maxTokens: 1_200, pinned: ['talk.echo'] },
    wide: { maxTokens: 100_000 },
    pins: { pinned: ['talk.whoami'] },
  };

  beforeAll(async () => {
    tracker = await startHttpUpstream({ id: 'tracker', tools: TRACKER, hints: SHARED });
    talk = await startHttpUpstream({
      id: 'talk',
      hints: SHARED,
      tools: [
        ...['echo', 'whoami', 'progress', 'fail', 'search_tools'].map((name) =>
          tool(name, `Tool ${name}`, ['text']),
        ),
        {
          name: 'region',
          inputSchema: { type: 'object', properties: { to: { type: 'string', 'x-mcp-header': 'To' } } },
        },
        tool('wordy', 'So many words. '.repeat(500)),
      ],
      calls: { search_tools: { does: 'raw', result: { content: [], structuredContent: { from: 'talk' } } } },
    });
    asks = await startHttpUpstream({ id: 'asks', tools: ['ask'], hints: SHARED });
    gateway = await startGateway({
      views,
      upstreams: {
        tracker: tracker.config,
        talk: { ...talk.config, namespace: '' },
        asks: { ...asks.config, isolation: 'user' },
      },
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all([tracker, talk, asks].map((server) => server?.[Symbol.asyncDispose]()));
  });

  describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
    const at = (view: string, options = {}): Promise<Agent> =>
      connect(`${gateway.origin}/mcp/${view}`, options);

    it('lists the gateway’s tools and the pinned ones, and calls any by its name', async () => {
      await using agent = await at('few');
      expect(await agent.names()).toEqual([...OWN, 'whoami']);
      expect(objectAt(agent.hello, 'capabilities')).toMatchObject({ tools: { listChanged: true } });
      const { result } = await agent.call('tracker.list_issues', { project: 'a' });
      expect(result['isError']).not.toBe(true);
    });

    it('finds tools in words that are not theirs, misspelled, and under the names of the view', async () => {
      await using agent = await at('few');
      const found = await agent.call('search_tools', { query: 'file a bug' });
      expect(entriesIn(found)[0]).toEqual({
        name: 'tracker.create_issue',
        server: 'tracker',
        description: 'Open a new issue.',
        arguments: ['title', 'body?'],
      });
      expect(JSON.parse(found.text)).toEqual(found.structured);
      expect(namesIn(await agent.call('search_tools', { query: 'lsit isues' }))[0]).toBe(
        'tracker.list_issues',
      );
      await using strict = await at('strict');
      expect(await strict.names()).toEqual(OWN);
      const first = namesIn(await strict.call('search_tools', { query: 'list issues' }))[0];
      expect(first).toBe('tracker__list_issues');
    });

    it('filters by server and hints, tells how many there are, and gives the rest by offset', async () => {
      await using agent = await at('few');
      const names = async (args: JsonObject) => namesIn(await agent.call('search_tools', args));
      expect(await names({ server: 'tracker', readOnly: true })).toEqual(['tracker.list_issues']);
      expect(await names({ query: 'issue', destructive: true })).toEqual(['tracker.delete_issue']);
      expect(await names({ query: 'issue', server: 'nobody' })).toEqual([]);
      const page = await agent.call('search_tools', { server: 'tracker', limit: 2 });
      expect(page.structured).toMatchObject({ total: 3, nextOffset: 2 });
      expect(await names({ server: 'tracker', limit: 2, offset: 2 })).toEqual(['tracker.delete_issue']);
      const around = await agent.call('search_tools');
      expect(around.structured['servers']).toContainEqual({ server: 'tracker', tools: 4 });
    });

    it('never offers a model what is for the pages of apps', async () => {
      await using agent = await at('few');
      expect(namesIn(await agent.call('search_tools', { query: 'refresh page alone' }))).not.toContain(
        'tracker.refresh',
      );
    });

    it('gives whole definitions as a list would', async () => {
      await using agent = await at('few');
      await using whole = await at('');
      const listed = (await whole.list('tools')).filter(({ name }) => name === 'tracker.create_issue');
      const asked = await agent.call('describe_tools', {
        names: ['tracker.create_issue', 'tracker.nothing'],
      });
      expect(asked.structured).toEqual({ tools: listed, unknown: ['tracker.nothing'] });
      const found = await agent.call('search_tools', { query: 'open issue', schemas: true, limit: 1 });
      expect(entriesIn(found)).toEqual(listed);
    });

    it('finds, describes and calls nothing that the view leaves out', async () => {
      await using agent = await at('part');
      expect(namesIn(await agent.call('search_tools', { query: 'delete issue' }))).not.toContain(
        'tracker.delete_issue',
      );
      const { structured } = await agent.call('describe_tools', { names: ['tracker.delete_issue'] });
      expect(structured).toEqual({ tools: [], unknown: ['tracker.delete_issue'] });
      const called = await agent.call('call_tool', { name: 'tracker.delete_issue', arguments: { id: '1' } });
      const unknown = await agent.call('call_tool', { name: 'tracker.delete_issuf', arguments: { id: '1' } });
      expect(called.result).toEqual(unknown.result);
      expect(called.result['isError']).toBe(true);
      expect(called.text).toContain('tracker.create_issue');
    });

    it('reads the beginning of a question, and of a name, that is far too long', async () => {
      await using agent = await at('few');
      const query = 'open a new issue '.padEnd(20_000, 'x');
      expect(namesIn(await agent.call('search_tools', { query }))).toContain('tracker.create_issue');
      const { structured } = await agent.call('describe_tools', { names: ['x'.repeat(20_000)] });
      expect(structured['unknown']).toEqual(['x'.repeat(200)]);
    });

    it('calls through call_tool like by the name itself: result, progress, and errors', async () => {
      await using agent = await at('few');
      const through = (name: string, args: JsonObject, options = {}) =>
        agent.call('call_tool', { name, arguments: args }, options);
      const direct = await agent.call('echo', { text: 'a' });
      expect((await through('echo', { text: 'a' })).result).toEqual(direct.result);
      // What some models write for no arguments.
      const without = await agent.call('call_tool', { name: 'whoami', arguments: null });
      expect(without.result).toEqual((await agent.call('whoami', {})).result);
      const { progress } = await through('progress', { text: 'a', steps: 2 }, { progressToken: 'mine' });
      expect(progress.map(({ progressToken }) => progressToken)).toContain('mine');
      expect((await through('fail', { text: 'a' })).result).toEqual(
        (await agent.call('fail', { text: 'a' })).result,
      );
    });

    it('checks arguments of a call through call_tool by the schema of the tool', async () => {
      await using agent = await at('few');
      const direct = await agent.call('tracker.create_issue', { title: 5 });
      const through = await agent.call('call_tool', {
        name: 'tracker.create_issue',
        arguments: { title: 5 },
      });
      expect(direct.result['isError']).toBe(true);
      expect(through.result).toEqual(direct.result);
    });

    it('sends the headers that a tool wants of its arguments, of a call through call_tool too', async () => {
      await using agent = await at('few');
      const mark = talk.mark();
      const { result } = await agent.call('call_tool', { name: 'region', arguments: { to: 'north' } });
      expect(result['isError']).not.toBe(true);
      const sent = await talk.untilReceived('tools/call', undefined, { after: mark });
      expect(sent.headers?.['mcp-param-to']).toBe('north');
    });

    it('asks the client what the server wants to know in a call through call_tool', async () => {
      const content = { answer: 'blue' };
      await using agent = await at('few', {
        capabilities: { elicitation: { form: {} } },
        answers: { 'elicitation/create': () => ({ action: 'accept', content }) },
      });
      const { text, rounds } = await agent.call('call_tool', { name: 'asks.ask', arguments: {} });
      expect(text).toContain('blue');
      expect(rounds).toBe(era === 'modern' ? 2 : 1);
    });

    it('refuses arguments of its own tools in words', async () => {
      await using agent = await at('few');
      for (const [name, args] of [
        ['search_tools', { query: 5 }],
        ['search_tools', { limit: 0 }],
        ['search_tools', { readOnly: 'yes' }],
        ['describe_tools', {}],
        ['describe_tools', { names: Array.from({ length: 21 }, String) }],
        ['call_tool', {}],
        ['call_tool', { name: 'echo', arguments: [] }],
      ] as const) {
        expect((await agent.call(name, args)).result, JSON.stringify(args)).toMatchObject({ isError: true });
      }
    });

    it('leaves its names free: a tool of a server that is called so has another one everywhere', async () => {
      await using whole = await at('');
      const other = (await whole.names()).find((name) => name.startsWith('search_tools'));
      expect(other).toMatch(/^search_tools_[a-z2-7]{8}$/);
      expect((await whole.call(String(other), { text: 'a' })).structured).toEqual({ from: 'talk' });
      const { error } = await whole.request('tools/call', { name: 'call_tool', arguments: {} });
      expect(error).toMatchObject({ code: -32602 });
    });

    it('progressive: what was found or named joins the list, with a notice, within its bounds', async () => {
      await using agent = await at('grows');
      await using notices = await agent.listen({ tools: true });
      const fixed = [...OWN, 'whoami'];
      const joined = async () => (await agent.names()).slice(fixed.length);
      await agent.call('search_tools', { query: 'delete issue', limit: 1 });
      await notices.next('notifications/tools/list_changed');
      expect(await joined()).toContain('tracker.delete_issue');
      expect((await agent.names()).slice(0, fixed.length)).toEqual(fixed);
      await agent.call('describe_tools', { names: ['tracker.create_issue'] });
      await agent.call('tracker.list_issues', { project: 'a' });
      expect((await joined()).toSorted()).toEqual(['tracker.create_issue', 'tracker.list_issues']);
      const { ttlMs, cacheScope } = await agent.result('tools/list');
      expect([ttlMs, cacheScope]).toEqual(era === 'modern' ? [0, 'private'] : [undefined, undefined]);
    });

    it('a list with a bound has what fits, the pinned first, and the rest is found', async () => {
      await using agent = await at('small');
      const names = await agent.names();
      expect(names.slice(0, 4)).toEqual([...OWN, 'echo']);
      expect(names).not.toContain('asks.ask');
      expect(namesIn(await agent.call('search_tools', { server: 'asks' }))).toEqual(['asks.ask']);
      await using wide = await at('wide');
      await using whole = await at('');
      expect(await wide.names()).toEqual(await whole.names());
      expect((await wide.names()).filter((name) => OWN.includes(name))).toEqual([]);
    });

    it('a list of everything begins with the pinned ones', async () => {
      await using agent = await at('pins');
      await using whole = await at('');
      const names = await whole.names();
      expect(await agent.names()).toEqual(['whoami', ...names.filter((name) => name !== 'whoami')]);
    });
  });

  it('tells nobody of changes of tools that are not in the list', async () => {
    const [{ connect } = AGENTS[0]!] = AGENTS.filter(({ era }) => era === 'modern');
    await using few = await connect(`${gateway.origin}/mcp/few`);
    await using whole = await connect(`${gateway.origin}/mcp`);
    await using quiet = await few.listen({ tools: true, prompts: true });
    await using loud = await whole.listen({ tools: true });
    await tracker.setTools([...TRACKER, tool('late', 'Came later.')]);
    await tracker.notify('tools');
    await loud.next('notifications/tools/list_changed');
    await tracker.setList('prompts', ['p']);
    expect(namesIn(await few.call('search_tools', { query: 'came later' }))).toContain('tracker.late');
    expect(quiet.count('notifications/tools/list_changed')).toBe(0);
  });

  it('a reload that changes the mode of a view is told', async () => {
    const { connect } = AGENTS[1]!;
    await using agent = await connect(`${gateway.origin}/mcp/few`);
    await using notices = await agent.listen({ tools: true });
    gateway.reload({
      views: { ...views, few: { mode: 'list' } },
      upstreams: {
        tracker: tracker.config,
        talk: { ...talk.config, namespace: '' },
        asks: { ...asks.config, isolation: 'user' },
      },
    });
    await notices.next('notifications/tools/list_changed');
    expect(await agent.names()).toContain('tracker.create_issue');
  });
});
