import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const APPS = 'io.modelcontextprotocol/ui';
const HTML = 'text/html;profile=mcp-app';
const WIDGET = 'ui://widget/chart';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const uiOf = (tool: JsonObject | undefined) => objectAt(objectAt(tool, '_meta'), 'ui');
const extensionsIn = (capabilities: unknown) => objectAt(capabilities, 'extensions');

/** Who served a page of an app, and under which URI it was returned. */
async function page(agent: Agent, uri: unknown): Promise<readonly unknown[]> {
  const { contents } = (await agent.result('resources/read', { uri })) as { contents: JsonObject[] };
  return [contents[0]?.['uri'], contents[0]?.['text']];
}

describe.each(FILLINGS)('MCP Apps of two $era servers over $carrier with the same page', ({ era, start }) => {
  let ups: readonly ScriptedUpstream[];
  let gateway: StartedGateway;

  beforeAll(async () => {
    const script = (id: string): Script => ({
      id,
      era,
      tools: [
        {
          name: 'chart',
          inputSchema: { type: 'object' },
          _meta: {
            ui: {
              csp: { connectDomains: ['https://example.com'] },
              resourceUri: WIDGET,
              visibility: ['model'],
            },
            'ui/resourceUri': WIDGET,
          },
        },
        // For pages only, and of one server alone.
        { name: `refresh-${id}`, inputSchema: { type: 'object' }, _meta: { ui: { visibility: ['app'] } } },
        'whoami',
        `plain-${id}`,
      ],
      // Pages need not be listed.
      resources: [],
      readResults: { [WIDGET]: { contents: [{ uri: WIDGET, mimeType: HTML, text: `page of ${id}` }] } },
    });
    ups = [await start(script('one')), await start(script('two'))];
    gateway = await startGateway({
      upstreams: Object.fromEntries(ups.map((up) => [up.id, { ...up.config, isolation: 'user' }])),
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all((ups ?? []).map((up) => up[Symbol.asyncDispose]()));
  });

  describe.each(AGENTS)('for a $era client', ({ connect }) => {
    const shows = { capabilities: { extensions: { [APPS]: { mimeTypes: [HTML] }, 'com.example/none': {} } } };

    it('each tool names its own page, which reads back, and nothing else in it is changed', async () => {
      await using agent = await connect(gateway.url, shows);
      const tools = await agent.list('tools');
      const seen = ['one', 'two'].map((id) => tools.find(({ name }) => name === `${id}.chart`));
      const [first, second] = seen.map((tool) => uiOf(tool)?.['resourceUri']);
      expect([first, second]).toEqual([WIDGET, 'ui://two!widget/chart']);
      for (const tool of seen) {
        const { resourceUri } = uiOf(tool) ?? {};
        expect(tool?.['_meta']).toEqual({
          ui: { csp: { connectDomains: ['https://example.com'] }, resourceUri, visibility: ['model'] },
          'ui/resourceUri': resourceUri,
        });
      }
      expect(await page(agent, first)).toEqual([first, 'page of one']);
      expect(await page(agent, second)).toEqual([second, 'page of two']);
    });

    it('tools that only pages may call are listed too: to hide them from the model is the host’s part', async () => {
      await using agent = await connect(gateway.url, shows);
      expect(await agent.names()).toContain('one.refresh-one');
    });

    it('a page calls the tools of its server by their bare names, and no others', async () => {
      await using agent = await connect(gateway.url, shows);
      expect((await agent.call('refresh-two', { n: 1 })).structured).toEqual({ n: 1 });
      for (const name of ['whoami', 'plain-one', 'chart']) {
        expect((await agent.request('tools/call', { name, arguments: {} })).error?.code, name).toBe(-32602);
      }
    });

    it('at the endpoint of one server alone everything has its own name', async () => {
      await using agent = await connect(`${gateway.origin}/mcp/two`, shows);
      const chart = (await agent.list('tools')).find(({ name }) => name === 'chart');
      expect(uiOf(chart)?.['resourceUri']).toBe(WIDGET);
      expect(await page(agent, WIDGET)).toEqual([WIDGET, 'page of two']);
    });

    it('is told of apps where a server declares them', async () => {
      await using up = await start({ id: 'up', era, capabilities: { extensions: { [APPS]: { x: 1 } } } });
      await using own = await startGateway({ upstreams: { up: up.config } });
      await own.gateway.settled();
      await using agent = await connect(own.url, shows);
      expect(extensionsIn(agent.hello['capabilities'])).toEqual({ [APPS]: { x: 1 } });
    });

    it('C-070: the server is told what this client can show, whether it declared the extension or not', async () => {
      await using agent = await connect(gateway.url, shows);
      const { structured } = await agent.call('one.whoami');
      expect(extensionsIn(structured['capabilities'])).toEqual({ [APPS]: { mimeTypes: [HTML] } });
      await using plain = await connect(gateway.url);
      expect(extensionsIn((await plain.call('one.whoami')).structured['capabilities'])).toBeUndefined();
    });
  });
});

describe.each([
  { carrier: 'stdio', start: startStdioUpstream },
  { carrier: 'http', start: startHttpUpstream },
] as const)('an extension that the gateway does not know, of a server over $carrier', ({ start }) => {
  const ODD = 'com.example/oddities';
  const answer = { odd: [{ deep: { future: null } }], _meta: { 'com.example/kept': 1 } };
  const odd = (id: string): Script => ({
    id,
    era: 'modern',
    tools: ['whoami'],
    capabilities: { extensions: { [ODD]: { level: 3 } } },
    methods: { 'oddities/list': answer },
  });

  it('is offered, negotiated and carried as it is', async () => {
    await using up = await start(odd('odd'));
    await using other = await start({ id: 'other', era: 'modern', tools: ['whoami'] });
    await using gateway = await startGateway({ upstreams: { other: other.config, odd: up.config } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url, {
      capabilities: { extensions: { [ODD]: { mine: 1 } } },
    });
    expect(extensionsIn(agent.hello['capabilities'])).toEqual({ [ODD]: { level: 3 } });
    const params = { filter: { any: [1, null] }, _meta: { 'com.example/why': 'x' } };
    const result = await agent.result('oddities/list', params);
    expect(result).toMatchObject({ ...answer, resultType: 'complete' });
    const received = await up.untilReceived('oddities/list');
    expect(received.params).toMatchObject({ filter: { any: [1, null] }, _meta: { 'com.example/why': 'x' } });
    const declared = (of: JsonObject) => extensionsIn(of);
    const told = objectAt(objectAt(received.params, '_meta'), META.capabilities);
    expect(declared(told ?? {})).toEqual({ [ODD]: { mine: 1 } });
    // Only where the server declared it too.
    expect(declared((await agent.call('odd.whoami')).structured['capabilities'] as JsonObject)).toEqual({
      [ODD]: { mine: 1 },
    });
    expect(
      declared((await agent.call('other.whoami')).structured['capabilities'] as JsonObject),
    ).toBeUndefined();
    for (const method of ['oddity/list', 'oddities', 'odd/list', 'com.example/oddities']) {
      const { status, error } = await agent.request(method);
      expect([status, error?.code], method).toEqual([404, -32601]);
    }
    expect((await agent.request('oddities/none')).error?.code).toBe(-32601);
    expect(other.received.filter(({ method }) => method.startsWith('odd'))).toEqual([]);
  });

  it('has no place in the era without extensions, nor at the endpoint of another server', async () => {
    await using up = await start(odd('odd'));
    await using other = await start({ id: 'other', era: 'modern', tools: ['whoami'] });
    await using gateway = await startGateway({ upstreams: { odd: up.config, other: other.config } });
    await gateway.gateway.settled();
    await using legacy = await connectLegacy(gateway.url);
    expect(extensionsIn(legacy.hello['capabilities'])).toBeUndefined();
    expect((await legacy.request('oddities/list')).error?.code).toBe(-32601);
    await using elsewhere = await connectModern(`${gateway.origin}/mcp/other`);
    expect(extensionsIn(elsewhere.hello['capabilities'])).toBeUndefined();
    expect((await elsewhere.request('oddities/list')).error?.code).toBe(-32601);
    expect(up.count('oddities/list')).toBe(0);
  });

  it('is not offered where two servers have it, since nobody could say whose a method is', async () => {
    await using up = await start(odd('odd'));
    await using twin = await start(odd('twin'));
    await using gateway = await startGateway({ upstreams: { odd: up.config, twin: twin.config } });
    await gateway.gateway.settled();
    await using agent = await connectModern(gateway.url);
    expect(extensionsIn(agent.hello['capabilities'])).toBeUndefined();
    expect((await agent.request('oddities/list')).error?.code).toBe(-32601);
    await using alone = await connectModern(`${gateway.origin}/mcp/twin`);
    expect(extensionsIn(alone.hello['capabilities'])).toEqual({ [ODD]: { level: 3 } });
    expect(await alone.result('oddities/list')).toMatchObject(answer);
    // A child process tells the test what it received a moment later.
    await twin.untilReceived('oddities/list');
    expect([up.count('oddities/list'), twin.count('oddities/list')]).toEqual([0, 1]);
  });
});
