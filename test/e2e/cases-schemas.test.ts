import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { connectSdk, SDK_CLIENTS } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

/** What reading a list finds; what is merely unusual in it is judged by `src/vetting`, and told elsewhere. */
const isOfReading = (finding: unknown) => /^(?:item|tool)\.|^schema\.remote-reference$/.test(String(finding));

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const tool = (name: string, inputSchema: unknown = { type: 'object' }) => ({ name, inputSchema });

const MALFORMED: readonly unknown[] = [
  tool('ok1'),
  tool('null-schema', null),
  { name: 'no-schema' },
  tool('only-dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }),
  tool('null-required', { type: 'object', required: null }),
  tool('root-union', { anyOf: [{ type: 'object' }, { type: 'object' }] }),
  tool('string-schema', { type: 'string' }),
  { ...tool('number-description'), description: 7 },
  null,
  5,
  ['a', 'list'],
  { inputSchema: { type: 'object' } },
  tool('ok2'),
];

const SERVED = [
  'up.ok1',
  'up.null-schema',
  'up.no-schema',
  'up.only-dialect',
  'up.null-required',
  'up.root-union',
  'up.number-description',
  'up.ok2',
];

describe.each(FILLINGS)('C-009: malformed tools of a $era server over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let good: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({
      id: 'up',
      era,
      tools: MALFORMED,
      prompts: [{ name: 'p', arguments: [{}, { name: 'a' }, 'b'] }, {}, 7],
      resources: [{ uri: 'note://x' }, { name: 'no-uri' }],
    });
    good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    gateway = await startGateway({ upstreams: { up: up.config, good: good.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
    await good?.[Symbol.asyncDispose]();
  });

  it.each(AGENTS)('cost a $era client nothing but themselves', async ({ connect }) => {
    await using agent = await connect(gateway.url);
    const tools = await agent.list('tools');
    expect(tools.map(({ name }) => name)).toEqual([...SERVED, 'good.fine']);
    expect(tools.find(({ name }) => name === 'up.null-schema')).toMatchObject({
      inputSchema: { type: 'object' },
    });
    expect(tools.find(({ name }) => name === 'up.no-schema')).toMatchObject({
      inputSchema: { type: 'object' },
    });
    expect(tools.find(({ name }) => name === 'up.number-description')).not.toHaveProperty('description');
    const { structured } = await agent.call('up.null-required', { still: 'callable' });
    expect(structured).toEqual({ still: 'callable' });
    expect(await agent.names('prompts')).toEqual(['up.p']);
    expect(await agent.list('resources')).toMatchObject([{ uri: 'note://x', name: 'note://x' }]);
  });

  it.each(SDK_CLIENTS)('leave a list that the official client %s accepts', async (label) => {
    await using client = await connectSdk(label, { url: gateway.url });
    expect((await client.listTools()).map(({ name }) => name)).toEqual([...SERVED, 'good.fine']);
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(['up.p']);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(['note://x']);
  });

  it('are each named once in the log with server and reason, and counted in the status', async () => {
    const told = () =>
      gateway.logged
        .filter(
          ({ upstream, finding, kind }) => upstream === 'up' && kind === 'tools' && isOfReading(finding),
        )
        .map(({ finding, item }) => `${finding} ${item}`);
    const once = [
      'item.repaired null-schema',
      'item.repaired no-schema',
      'item.repaired only-dialect',
      'item.repaired null-required',
      'item.repaired root-union',
      'tool.schema-not-object string-schema',
      'item.repaired number-description',
      'item.not-an-object #8',
      'item.not-an-object #9',
      'item.not-an-object #10',
      'item.no-name #11',
    ];
    expect(told().toSorted()).toEqual(once.toSorted());
    // Read again, with one fault more.
    await using agent = await connectModern(gateway.url);
    await using notices = await agent.listen({ tools: true });
    await up.untilListening();
    await up.setTools([...MALFORMED, { name: 'late' }]);
    await up.notify('tools');
    await notices.next('notifications/tools/list_changed');
    expect(told().toSorted()).toEqual([...once, 'item.repaired late'].toSorted());
    const reasons = gateway.logged.filter(({ finding }) => finding !== undefined).map(({ reason }) => reason);
    expect(reasons.filter((reason) => typeof reason !== 'string' || reason.length < 10)).toEqual([]);
    const { upstreams } = gateway.gateway.readiness();
    expect(upstreams['up']?.findings).toBeGreaterThanOrEqual(once.length + 1);
    expect(upstreams['good']?.findings).toBe(0);
    await up.setTools(MALFORMED);
    await up.notify('tools');
    await notices.next('notifications/tools/list_changed');
  });
});

describe('C-012: recursive and pointer-style references', () => {
  const recursive = {
    type: 'object',
    properties: { root: { $ref: '#/$defs/node' } },
    $defs: {
      node: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } },
    },
  };
  const pointers = {
    type: 'object',
    properties: {
      nodes: { type: 'array', items: { type: 'object', properties: { id: { type: 'string' } } } },
      first: { $ref: '#/properties/nodes/items' },
    },
  };
  const three = (next: string) => ({ type: 'object', properties: { next: { $ref: `#/$defs/${next}` } } });
  const mutual = {
    type: 'object',
    $ref: '#/$defs/a',
    $defs: { a: three('b'), b: three('c'), c: three('a') },
  };
  const schemas = { recursive, pointers, mutual };

  it.each(AGENTS)('reach a $era client unchanged, and nested arguments the server', async ({ connect }) => {
    const tools = Object.entries(schemas).map(([name, schema]) => tool(name, schema));
    await using up = await startHttpUpstream({ id: 'up', tools });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await using agent = await connect(gateway.url);
    const listed = await agent.list('tools');
    expect(listed).toEqual(tools.map((each) => ({ ...each, name: `up.${each.name}` })));
    expect(JSON.stringify(listed.map(({ inputSchema }) => inputSchema))).toBe(
      JSON.stringify(Object.values(schemas)),
    );
    let nested: object = { children: [] };
    for (let level = 0; level < 150; level += 1) {
      nested = { children: [nested] };
    }
    expect((await agent.call('up.recursive', { root: nested })).structured).toEqual({ root: nested });
  });
});

describe('C-014: remote references and schema bombs', () => {
  const fetched: string[] = [];
  const listener = createServer((request, response) => {
    fetched.push(`${request.method} ${request.url}`);
    response.end('{"type":"object"}');
  });
  let up: ScriptedUpstream;
  let good: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const remote = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/s.json`;
    const $defs: Record<string, unknown> = { d60: { type: 'string' } };
    for (let level = 0; level < 60; level += 1) {
      const next = { $ref: `#/$defs/d${level + 1}` };
      $defs[`d${level}`] = { anyOf: [next, next] };
    }
    let deep: object = {};
    for (let level = 0; level < 2_000; level += 1) {
      deep = { not: deep };
    }
    up = await startStdioUpstream({
      id: 'up',
      tools: [
        tool('remote', { type: 'object', properties: { a: { $ref: remote } }, $schema: `${remote}?schema` }),
        tool('metadata', { type: 'object', $ref: 'http://169.254.169.254/latest/meta-data' }),
        { ...tool('output'), outputSchema: { type: 'object', $ref: `${remote}?output` } },
        tool('bomb', { type: 'object', $ref: '#/$defs/d0', $defs }),
        tool('deep', { type: 'object', ...deep }),
        tool('huge', { type: 'object', description: 'x'.repeat(2 * 1024 * 1024) }),
        tool('ok'),
      ],
    });
    good = await startHttpUpstream({ id: 'good', tools: ['fine'] });
    gateway = await startGateway({ upstreams: { up: up.config, good: good.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
    await good?.[Symbol.asyncDispose]();
    listener.close();
  });

  it.each(AGENTS)(
    'a $era client gets what is within bounds, as it was written; nothing is fetched, in lists or calls',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const names = ['up.remote', 'up.metadata', 'up.output', 'up.bomb', 'up.ok', 'good.fine'];
      const tools = await agent.list('tools');
      expect(tools.map(({ name }) => name)).toEqual(names);
      const originals = new Map(
        up.script.tools?.map((each) => [`up.${(each as { name: string }).name}`, each]),
      );
      for (const { name, ...rest } of tools.slice(0, 5)) {
        expect({ ...rest, name: String(name).slice(3) }).toEqual(originals.get(String(name)));
      }
      for (const name of names.slice(0, 5)) {
        expect((await agent.call(name, { a: 'b' })).structured).toEqual({ a: 'b' });
      }
      expect(fetched).toEqual([]);
    },
  );

  it('what is out of bounds is left out with a finding; what refers elsewhere has a warning', () => {
    const told = gateway.logged.flatMap(({ finding, item }) =>
      isOfReading(finding) ? [`${finding} ${item}`] : [],
    );
    expect(told.toSorted()).toEqual([
      'item.too-large deep',
      'item.too-large huge',
      'schema.remote-reference metadata',
      'schema.remote-reference output',
      'schema.remote-reference remote',
    ]);
  });
});

describe('C-009: a tool whose schema says true of a property, as generators write it for any value', () => {
  it.each(SDK_CLIENTS)('costs the official client %s nothing', async (label) => {
    const properties = { any: true, none: false, a: { type: 'string' } };
    const schema = { type: 'object', properties };
    await using up = await startHttpUpstream({
      id: 'up',
      tools: [{ name: 'echo', inputSchema: schema, outputSchema: schema }, 'fine'],
    });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    await using client = await connectSdk(label, { url: gateway.url });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['up.echo', 'up.fine']);
    expect(await client.callTool('up.echo', { any: [1], a: 'x' })).toMatchObject({
      structuredContent: { any: [1], a: 'x' },
    });
  });
});
