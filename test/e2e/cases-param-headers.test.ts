import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import type { Agent, HeaderChanges } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { connectSdk } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    target: { type: 'object', properties: { shard: { type: 'string', 'x-mcp-header': 'Shard' } } },
  },
};
const script: Script = {
  id: 'u',
  tools: [{ name: 'execute_sql', inputSchema: SCHEMA }, 'echo'],
  calls: { execute_sql: { does: 'echo' } },
};
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe.each(FILLINGS)(
  'C-103: a tool with marked parameters of a $era upstream over $carrier',
  ({ carrier, era, start }) => {
    let u: ScriptedUpstream;
    let gateway: StartedGateway;
    let agent: Agent;

    beforeAll(async () => {
      u = await start({ ...script, era });
      gateway = await startGateway({ upstreams: { u: { ...u.config, validate: { arguments: 'off' } } } });
      await gateway.gateway.settled();
      // Knows no schema, so it adds no parameter headers by itself.
      agent = await connectModern(gateway.url);
    });

    afterAll(async () => {
      await agent?.[Symbol.asyncDispose]();
      await gateway?.close();
      await u?.[Symbol.asyncDispose]();
    });

    const call = (args: JsonObject, headers: HeaderChanges) =>
      agent.request('tools/call', { name: 'u.execute_sql', arguments: args }, { headers });

    it.each<[string, JsonObject, HeaderChanges]>([
      [
        'all of them',
        { region: 'eu', limit: 42, dry: true },
        { 'mcp-param-region': 'eu', 'mcp-param-limit': '42', 'mcp-param-dry': 'true' },
      ],
      ['a nested one', { target: { shard: 's1' } }, { 'mcp-param-shard': 's1' }],
      ['Base64', { region: 'Süd' }, { 'mcp-param-region': base64('Süd') }],
      ['Base64 that was not needed', { region: 'eu' }, { 'mcp-param-region': base64('eu') }],
      ['42.0 for 42', { limit: 42 }, { 'mcp-param-limit': '42.0' }],
      ['a name in other letters', { region: 'eu' }, { 'MCP-PARAM-REGION': 'eu' }],
      ['null and absent: none', { region: null, query: 'select 1' }, {}],
      ['one that is marked nowhere', { query: 'x' }, { 'mcp-param-foo': 'bar' }],
      ['an empty value', { region: '' }, { 'mcp-param-region': base64('') }],
    ])('right headers pass: %s', async (_title, args, headers) => {
      const after = u.mark();
      const { status, result } = await call(args, headers);
      expect([status, result]).toMatchObject([200, { structuredContent: args }]);
      const heard = await u.untilReceived('tools/call', undefined, { after });
      expect(heard.params['name']).toBe('execute_sql');
      expect(JSON.stringify(heard.headers)).not.toContain('u.execute_sql');
    });

    it.each<[string, JsonObject, HeaderChanges]>([
      ['none', { region: 'eu' }, {}],
      ['one of two', { region: 'eu', limit: 1 }, { 'mcp-param-region': 'eu' }],
      ['another value', { region: 'eu' }, { 'mcp-param-region': 'us' }],
      ['other letters', { region: 'eu' }, { 'mcp-param-region': 'EU' }],
      ['Base64 of another value', { region: 'eu' }, { 'mcp-param-region': base64('us') }],
      ['broken Base64', { region: 'eu' }, { 'mcp-param-region': '=?base64?***?=' }],
      ['another number', { limit: 42 }, { 'mcp-param-limit': '43' }],
      ['a number in words', { limit: 42 }, { 'mcp-param-limit': '0x2A' }],
      ['a header for null', { region: null }, { 'mcp-param-region': 'null' }],
      ['a header for nothing', {}, { 'mcp-param-region': 'eu' }],
      ['a header for nothing, nested', { target: {} }, { 'mcp-param-shard': 's1' }],
      [
        'a header for the name upstream',
        { region: 'eu' },
        { 'mcp-param-region': 'eu', 'mcp-name': 'execute_sql' },
      ],
      ['no Mcp-Name', { region: 'eu' }, { 'mcp-param-region': 'eu', 'mcp-name': null }],
    ])('wrong headers are 400 and -32020, and nothing goes upstream: %s', async (_title, args, headers) => {
      const before = u.count('tools/call');
      const { status, error } = await call(args, headers);
      expect([status, error?.code]).toEqual([400, -32020]);
      await agent.call('u.echo', { fence: true });
      expect(u.count('tools/call', ({ params }) => params['name'] === 'execute_sql')).toBeLessThanOrEqual(
        before,
      );
    });

    it.each(AGENTS)(
      'the upstream gets headers made anew for the call of a $era client',
      async ({ connect }) => {
        await using client = await connect(gateway.url);
        await client.list('tools');
        const args = { region: 'Süd', limit: 7, dry: false, target: { shard: 's2' }, query: null };
        const after = u.mark();
        expect((await client.call('u.execute_sql', args)).structured).toEqual(args);
        const { headers } = await u.untilReceived('tools/call', undefined, { after });
        const params = Object.fromEntries(
          Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')),
        );
        const mirrored = {
          'mcp-param-region': base64('Süd'),
          'mcp-param-limit': '7',
          'mcp-param-dry': 'false',
          'mcp-param-shard': 's2',
        };
        expect(params).toEqual(carrier === 'http' && era === 'modern' ? mirrored : {});
        expect(headers['mcp-name']).toBe(carrier === 'http' && era === 'modern' ? 'execute_sql' : undefined);
      },
    );

    it.each(['v2-auto', 'v1'] as const)('the official client %s calls it', async (label) => {
      await using client = await connectSdk(label, { url: gateway.url });
      await client.listTools();
      const args = { region: 'Süd', limit: 7 };
      expect(await client.callTool('u.execute_sql', args)).toMatchObject({ structuredContent: args });
    });

    it('in strict names, and at its own endpoint, headers carry the name that was listed there', async () => {
      for (const [url, name] of [
        [`${gateway.url}?names=strict`, 'u__execute_sql'],
        [`${gateway.url}/u`, 'execute_sql'],
      ] as const) {
        await using client = await connectModern(url);
        await client.list('tools');
        expect((await client.call(name, { region: 'eu' })).structured).toEqual({ region: 'eu' });
        const wrong = await client.request(
          'tools/call',
          { name, arguments: {} },
          { headers: { 'mcp-name': 'u.execute_sql' } },
        );
        expect([wrong.status, wrong.error?.code]).toEqual([400, -32020]);
      }
    });
  },
);

describe('C-103: marks that are wrong', () => {
  const marked = (name: string, properties: JsonObject, more: JsonObject = {}) => ({
    name,
    inputSchema: { type: 'object', properties, ...more },
  });
  const tools = [
    marked('good', { a: { type: 'string', 'x-mcp-header': 'A' } }),
    marked('twice', {
      a: { type: 'string', 'x-mcp-header': 'A' },
      b: { type: 'string', 'x-mcp-header': 'a' },
    }),
    marked('empty', { a: { type: 'string', 'x-mcp-header': '' } }),
    marked('in-items', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }),
    marked('no-token', { a: { type: 'string', 'x-mcp-header': 'A b' } }),
    marked('no-text', { a: { type: 'string', 'x-mcp-header': 5 } }),
    marked('an-object', { a: { type: 'object', 'x-mcp-header': 'A' } }),
    marked('in-a-union', {}, { anyOf: [{ properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }] }),
  ];
  const names = tools.map(({ name }) => `u.${name}`);
  const plain = {
    id: 'u',
    tools,
    calls: Object.fromEntries(tools.map(({ name }) => [name, { does: 'echo' as const }])),
  };

  it.each(FILLINGS)(
    'of a $era upstream over $carrier: left out where the spec says so, else taken off; told in a finding',
    async ({ carrier, era, start }) => {
      await using u = await start({ ...plain, era });
      await using gateway = await startGateway({
        upstreams: { u: { ...u.config, validate: { arguments: 'off' } } },
      });
      await gateway.gateway.settled();
      const leftOut = carrier === 'http' && era === 'modern';
      const offered = leftOut ? ['u.good'] : names;
      for (const { connect } of AGENTS) {
        await using agent = await connect(gateway.url);
        const listed = await agent.list('tools');
        expect(listed.map(({ name }) => name)).toEqual(offered);
        const marks = listed.filter((tool) => JSON.stringify(tool).includes('x-mcp-header'));
        expect(marks.map(({ name }) => name)).toEqual(['u.good']);
        for (const name of offered) {
          expect((await agent.call(name, { a: 'x' })).structured).toEqual({ a: 'x' });
        }
      }
      await using sdk = await connectSdk('v2-auto', { url: gateway.url });
      expect((await sdk.listTools()).map(({ name }) => name)).toEqual(offered);
      const told = gateway.logged
        .filter(({ finding }) => finding === 'tool.bad-header-mark')
        .map(({ item }) => item);
      expect(told).toEqual(tools.slice(1).map(({ name }) => name));
    },
  );
});

it.each(AGENTS)(
  'C-103: a mark that has changed upstream costs a $era client nothing: the list is read again, the call made once more',
  async ({ connect }) => {
    await using u = await startHttpUpstream({ ...script, era: 'modern', capabilities: { tools: {} } });
    await using gateway = await startGateway({
      upstreams: { u: { ...u.config, validate: { arguments: 'off' } } },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    await agent.list('tools');
    const renamed = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Zone' } } };
    // Not announced: the upstream refuses what comes in the old form.
    await u.setTools([{ name: 'execute_sql', inputSchema: renamed }]);
    const after = u.mark();
    const args = { region: 'eu' };
    const answer = await agent.request('tools/call', { name: 'u.execute_sql', arguments: args });
    const asked = u.received.slice(after).filter(({ method }) => method === 'tools/call');
    if (agent.era === 'legacy') {
      expect(answer.result).toMatchObject({ structuredContent: args });
      expect(asked.map(({ headers }) => headers['mcp-param-zone'])).toEqual([undefined, 'eu']);
    } else {
      // Its own header has the old name as well: it has to read the list itself.
      expect(answer.error?.code).toBe(-32020);
      expect((await agent.list('tools')).map(({ inputSchema }) => inputSchema)).toEqual([renamed]);
      expect((await agent.call('u.execute_sql', args)).structured).toEqual(args);
    }
    expect(u.count('tools/list')).toBe(2);
  },
);
