import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt, without } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { checkResult } from '../kit/wire-check.ts';

const VENDOR = { 'com.example/vendor': { deep: [1, null, { z: 0, a: 1 }] }, plain: 'kept' };
const ICONS = [
  { src: 'data:image/png;base64,AAAA', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark', x: 1 },
];
const ANNOTATIONS = {
  audience: ['user'],
  priority: 0.25,
  lastModified: '2026-01-02T03:04:05Z',
  vendor: true,
};

/** Every sort of content, known and unknown, each with members that no version of the protocol has. */
const CONTENT = [
  { type: 'text', text: 'é — 🎉 \u0000 \u2028', annotations: ANNOTATIONS, _meta: VENDOR, xUnknown: null },
  { type: 'image', data: 'AAEC/+==', mimeType: 'image/png', _meta: VENDOR },
  { type: 'audio', data: 'AAEC', mimeType: 'audio/wav', annotations: { priority: 1 } },
  { type: 'resource_link', uri: 'note://one', name: 'one', title: 'One', icons: ICONS, size: 3, vendor: [] },
  {
    type: 'resource',
    resource: { uri: 'note://blob', mimeType: 'application/x-thing', blob: 'AAEC', _meta: VENDOR, extra: 0 },
    _meta: { inner: false },
  },
  { type: 'video', streams: [{ codec: 'av1' }], 'x-key': 1e21 },
];

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://example.com/nodes',
  type: 'object',
  'x-vendor': { order: ['z', 'a'] },
  properties: {
    z: { $ref: '#/$defs/node', title: 'Z' },
    a: { type: ['string', 'null'], default: null, examples: [0, false, ''] },
  },
  required: ['z'],
  additionalProperties: false,
  oneOf: [{ required: ['z'] }, { required: ['a'] }],
  $defs: {
    node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, unevaluatedProperties: false },
  },
};

const OUTPUT = {
  type: 'object',
  properties: { n: { type: 'integer' }, at: { type: 'string', format: 'date-time' } },
  required: ['n', 'at'],
};

const TOOL = {
  name: 'mixed',
  title: 'Mixed',
  description: 'Everything at once',
  icons: ICONS,
  inputSchema: SCHEMA,
  outputSchema: OUTPUT,
  annotations: { title: 'M', readOnlyHint: true, vendorHint: 'kept' },
  execution: { taskSupport: 'optional' },
  _meta: VENDOR,
  futureField: { nested: [true] },
};
const PROMPT = {
  name: 'draft',
  title: 'Draft',
  icons: ICONS,
  arguments: [{ name: 'topic', title: 'Topic', required: true, vendor: 1 }],
  _meta: VENDOR,
  future: 0,
};
const RESOURCE = {
  uri: 'note://one',
  name: 'one',
  title: 'One',
  size: 3,
  annotations: ANNOTATIONS,
  _meta: VENDOR,
  future: '',
};
const TEMPLATE = {
  uriTemplate: 'note://{name}',
  name: 'any',
  title: 'Any',
  icons: ICONS,
  _meta: VENDOR,
  future: [],
};

const PROMPT_RESULT = {
  description: 'A draft',
  messages: CONTENT.map((content) => ({ role: 'assistant', content, vendor: content.type })),
  _meta: VENDOR,
  future: { a: 1 },
};
const CONTENTS = {
  contents: [
    { uri: 'note://one', mimeType: 'text/markdown', text: '# é🎉', _meta: VENDOR, future: 1 },
    { uri: 'note://one#bytes', mimeType: 'application/octet-stream', blob: '/+8AAQ==', size: 4 },
  ],
  _meta: VENDOR,
  future: null,
};

/** Case C-011, (a) to (e): what a server may answer although it announced an output schema. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  conforming: { content: [], structuredContent: { n: 1, at: '2026-01-02T03:04:05Z' } },
  deviating: { content: [], structuredContent: { n: null, at: '2026-01-02 03:04', more: 1 } },
  'text only': { content: [{ type: 'text', text: '{"n":1}' }] },
  'an array': { content: [{ type: 'text', text: '[]' }], structuredContent: [1, { n: 2 }] },
  'a number': { content: [], structuredContent: 0 },
  null: { content: [], structuredContent: null },
  'an error': { content: [{ type: 'text', text: 'no' }], isError: true, _meta: VENDOR, future: 1 },
};

/** Those that the legacy era cannot stand, as it gets them. */
const LEGACY_ANSWERS: Readonly<Record<string, JsonObject>> = {
  'an array': { content: [{ type: 'text', text: '[]' }] },
  'a number': { content: [{ type: 'text', text: '0' }] },
  null: { content: [{ type: 'text', text: 'null' }] },
};

const MIXED = {
  content: CONTENT,
  structuredContent: { n: 1, at: 'x' },
  isError: false,
  _meta: VENDOR,
  future: [0],
};
const FAULT = { code: -32050, message: 'vendor fault', data: { why: [null, 'é'], future: { a: 0 } } };
const BLOB = Buffer.alloc(5 * 1024 * 1024 * 0.75, 'patchbay').toString('base64');

const SCRIPT: Script = {
  id: 'up',
  tools: [TOOL, 'blob', 'fault', 'whoami', ...Object.keys(ANSWERS).map((name) => ({ ...TOOL, name }))],
  prompts: [PROMPT],
  resources: [RESOURCE, 'note://blob'],
  templates: [TEMPLATE],
  calls: {
    mixed: { does: 'raw', result: MIXED },
    blob: { does: 'raw', result: { content: [{ type: 'image', data: BLOB, mimeType: 'image/png' }] } },
    fault: { does: 'rpc-error', ...FAULT },
    ...Object.fromEntries(Object.entries(ANSWERS).map(([name, result]) => [name, { does: 'raw', result }])),
  },
  promptResults: { draft: PROMPT_RESULT },
  readResults: { 'note://one': CONTENTS },
  methods: {
    'completion/complete': { completion: { values: ['x'], total: 9, hasMore: true, future: 1 }, future: 0 },
  },
};

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({ ...SCRIPT, era });
    gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  describe.each(AGENTS)('a $era client gets untouched', ({ era: clientEra, connect }) => {
    const open = () => connect(gateway.url);

    /** JSON text, so that the order of members counts too; the hop's own members are taken out. */
    const text = (result: JsonObject) => {
      const { resultType, ttlMs, cacheScope, ...rest } = result;
      const { 'io.modelcontextprotocol/serverInfo': serverInfo, ...meta } = (rest['_meta'] ??
        {}) as JsonObject;
      const members = clientEra === 'modern' ? ['complete', 'object'] : ['undefined', 'undefined'];
      expect([String(resultType), typeof serverInfo]).toEqual(members);
      return JSON.stringify({ ...without(rest, '_meta'), _meta: meta });
    };
    const sent = (result: JsonObject) =>
      JSON.stringify({ ...without(result, '_meta'), _meta: result['_meta'] ?? {} });

    it('C-008, C-077: definitions of all four kinds, key by key and in order', async () => {
      await using agent = await open();
      const [tool] = await agent.list('tools');
      const { execution, ...modernTool } = TOOL;
      const expected = clientEra === 'modern' ? modernTool : TOOL;
      expect(JSON.stringify(tool)).toBe(JSON.stringify({ ...expected, name: 'up.mixed' }));
      expect(JSON.stringify(await agent.list('prompts'))).toBe(
        JSON.stringify([{ ...PROMPT, name: 'up.draft' }]),
      );
      expect(JSON.stringify((await agent.list('resources'))[0])).toBe(JSON.stringify(RESOURCE));
      expect(JSON.stringify(await agent.list('templates'))).toBe(JSON.stringify([TEMPLATE]));
    });

    it('C-077: every sort of content in results of tools, prompts and reads', async () => {
      await using agent = await open();
      expect(text(await agent.result('tools/call', { name: 'up.mixed', arguments: { z: {} } }))).toBe(
        sent(MIXED),
      );
      const prompt = await agent.result('prompts/get', { name: 'up.draft', arguments: { topic: 'x' } });
      expect(text(prompt)).toBe(sent(PROMPT_RESULT));
      const read = await agent.result('resources/read', { uri: 'note://one' });
      expect(text(read)).toBe(sent(CONTENTS));
      expect(checkResult(agent.version, 'resources/read', read)).toEqual([]);
      const ref = { type: 'ref/prompt', name: 'up.draft', future: 1 };
      const params = { ref, argument: { name: 'topic', value: 'x' }, context: { arguments: {} } };
      expect(text(await agent.result('completion/complete', params))).toBe(
        sent(SCRIPT.methods?.['completion/complete'] ?? {}),
      );
    });

    it('C-077: a blob of 5 MB', async () => {
      await using agent = await open();
      const { result } = await agent.call('up.blob', { z: {} });
      const [block] = result['content'] as readonly JsonObject[];
      expect(block?.['data'] === BLOB).toBe(true);
    });

    it.each(Object.keys(ANSWERS))('C-011: structured output that is %s', async (name) => {
      await using agent = await open();
      const result = await agent.result('tools/call', { name: `up.${name}`, arguments: { z: {} } });
      const answer = (clientEra === 'legacy' ? LEGACY_ANSWERS[name] : undefined) ?? ANSWERS[name] ?? {};
      expect(text(result)).toBe(sent(answer));
      expect(checkResult(agent.version, 'tools/call', result)).toEqual([]);
    });

    it('an error of the upstream, code, text and data', async () => {
      await using agent = await open();
      const { error } = await agent.request('tools/call', { name: 'up.fault', arguments: { z: {} } });
      expect(JSON.stringify(error)).toBe(JSON.stringify(FAULT));
    });
  });

  it.each(AGENTS)('passes to the upstream what a $era client says beyond the protocol', async (client) => {
    await using agent = await client.connect(gateway.url);
    const args = { z: { next: null }, a: 'é🎉', list: [0, '', false], client: client.era };
    await agent.request(
      'tools/call',
      { name: 'up.whoami', arguments: args, future: { x: [1] } },
      { meta: { ...VENDOR, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' } },
    );
    const { params } = await up.untilReceived(
      'tools/call',
      (entry) => objectAt(entry.params, 'arguments')?.['client'] === client.era,
    );
    expect(JSON.stringify(params['arguments'])).toBe(JSON.stringify(args));
    expect(params).toMatchObject({ name: 'whoami', future: { x: [1] }, _meta: VENDOR });
  });
});
