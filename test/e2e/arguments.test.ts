import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { configFile, run } from '../unit/cli/run.ts';

const FIND = {
  type: 'object',
  properties: { path: { type: 'string' }, limit: { type: 'integer' } },
  required: ['path'],
  additionalProperties: false,
};
const ROW = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };

const TOKEN = `ghp_${'aB3dE5gH7jK9mN1pQ3rS'.repeat(2).slice(0, 36)}`;
/** So long that nobody has to read it on its way. */
const LEAK = (token: string) => `${'plain words '.repeat(3_000)}Use ${token}.`;
const ERROR = `TypeError: no\n    at run (/srv/app/run.js:1:2)\n    at call (/srv/app/call.js:3:4)`;

const TOOLS = [
  { name: 'find', inputSchema: FIND },
  { name: 'row', inputSchema: { type: 'object' }, outputSchema: ROW },
  { name: 'leak', inputSchema: { type: 'object' } },
  { name: 'broken', inputSchema: { type: 'object' } },
  { name: 'old', inputSchema: { ...FIND, $schema: 'http://json-schema.org/draft-04/schema#' } },
  {
    name: 'ask',
    inputSchema: { type: 'object', properties: { kind: { const: 'elicitation' } }, required: ['kind'] },
  },
];

const CALLS = {
  row: { does: 'raw', result: { content: [], structuredContent: { id: 'seven', [TOKEN]: 1 } } },
  leak: { does: 'raw', result: { content: [{ type: 'text', text: LEAK(TOKEN) }] } },
  broken: { does: 'fail', text: ERROR },
} as const;

let up: ScriptedUpstream;
let gateway: StartedGateway;

const start = (validate: object, vetting: object = {}) =>
  startGateway({
    upstreams: {
      up: { ...up.config, validate, isolation: 'user', tools: { rename: { find: 'look' } } },
    },
    vetting,
  });

beforeAll(async () => {
  up = await startHttpUpstream({ id: 'up', tools: TOOLS, calls: CALLS });
  gateway = await start({});
});

afterAll(async () => {
  await gateway?.close();
  await up?.[Symbol.asyncDispose]();
});

const words = (lines: StartedGateway['logged']) => lines.map(({ msg }) => msg);

describe.each(AGENTS)('by default, for a $era client', ({ connect }) => {
  it('arguments that do not fit are told, under the name that the client knows, and reach nobody', async () => {
    await using agent = await connect(gateway.url);
    const before = up.count('tools/call');
    const { result, text } = await agent.call('up.look', { pth: 'a', limit: 'tenfold' });
    expect(result['isError']).toBe(true);
    expect(text).toMatch(/input schema of up\.look, so it was not called/);
    expect(text).toMatch(
      /\n- path: required, but missing\n- pth: .* did you mean "path"\?\n- limit: expected an integer, got/,
    );
    expect(text).toMatch(/\nIts arguments are: path \(string, required\), limit \(integer\)\.$/);
    const none = await agent.result('tools/call', { name: 'up.look' });
    expect(none['isError']).toBe(true);
    expect(up.count('tools/call')).toBe(before);
  });

  it('of a long text that does not fit its beginning is told', async () => {
    await using agent = await connect(gateway.url);
    const { text } = await agent.call('up.look', { path: 'a', limit: 'tenfold '.repeat(2_000) });
    expect(text).toContain('limit: expected an integer, got the string "tenfold tenfold');
  });

  it('those that fit arrive as they were sent', async () => {
    await using agent = await connect(gateway.url);
    const { structured } = await agent.call('up.look', { path: 'a' });
    expect(structured).toEqual({ path: 'a' });
    const later = await agent.call('up.look', { limit: 7, path: 'b' });
    expect(JSON.stringify(later.structured)).toBe('{"limit":7,"path":"b"}');
  });

  it('a schema of another dialect is not checked', async () => {
    await using agent = await connect(gateway.url);
    expect((await agent.call('up.old', { pth: 'a' })).structured).toEqual({ pth: 'a' });
  });

  it('a call that goes on after a question is checked again, and passes', async () => {
    const answers = { 'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }) };
    await using agent = await connect(gateway.url, { capabilities: { elicitation: {} }, answers });
    const { result } = await agent.call('up.ask', { kind: 'elicitation' });
    expect(result['isError']).not.toBe(true);
    expect((await agent.call('up.ask', { kind: 'roots' })).result['isError']).toBe(true);
  });

  it('C-011: results come as they are, whatever is found in them', async () => {
    await using agent = await connect(gateway.url);
    expect((await agent.call('up.row')).structured).toEqual({ id: 'seven', [TOKEN]: 1 });
    expect((await agent.call('up.leak')).text).toBe(LEAK(TOKEN));
    expect((await agent.call('up.broken')).text).toBe(ERROR);
  });
});

it('C-095: what was found is told once, and neither arguments nor results are', () => {
  const told = gateway.logged.filter(({ level }) => level === 40 || level === 'warn');
  expect(
    words(told)
      .filter((each) => /schema|credential|gives away|checked/.test(String(each)))
      .toSorted(),
  ).toEqual([
    'a result holds what looks like a credential',
    'an error gives away what is inside its server',
    'arguments cannot be checked, and are passed on',
    'results do not fit the output schema of their tool',
  ]);
  const found = gateway.logged.flatMap(({ found: each }) => (Array.isArray(each) ? each : []));
  expect(found).toEqual(['GitHub token', 'stack trace']);
  expect(gateway.logged.find(({ places }) => places !== undefined)).toMatchObject({
    places: ['id'],
    tool: 'row',
  });
  for (const canary of [TOKEN, 'seven', 'tenfold', '/srv/app']) {
    expect(JSON.stringify(gateway.logged)).not.toContain(canary);
  }
});

it('warned of only: arguments are passed on, and told of once', async () => {
  await using lenient = await start({ arguments: 'warn' });
  await using agent = await connectModern(lenient.url);
  expect((await agent.call('up.look', { pth: 'a' })).structured).toEqual({ pth: 'a' });
  expect((await agent.call('up.look', { pth: 'b' })).structured).toEqual({ pth: 'b' });
  const warned = lenient.logged.filter(({ msg }) => /do not fit the schema/.test(String(msg)));
  expect(warned).toMatchObject([{ upstream: 'up', tool: 'find', places: ['path', '*'] }]);
});

it('switched off: nothing is looked at', async () => {
  await using off = await start(
    { arguments: 'off', results: 'off' },
    { credentials: 'off', errorDetails: 'off' },
  );
  await using agent = await connectModern(off.url);
  expect((await agent.call('up.look', { pth: 'a' })).structured).toEqual({ pth: 'a' });
  await agent.call('up.row');
  await agent.call('up.leak');
  await agent.call('up.broken');
  expect(words(off.logged).filter((each) => /schema|credential|gives away/.test(String(each)))).toEqual([]);
});

it('enforced: a result that breaks the schema of its server is held back, and what it should not hold is masked', async () => {
  await using strict = await start({ results: 'enforce' }, { credentials: 'mask', errorDetails: 'trim' });
  await using agent = await connectModern(strict.url);
  const { result, text } = await agent.call('up.row');
  expect(result).toMatchObject({ isError: true });
  expect(result).not.toHaveProperty('structuredContent');
  expect(text).toMatch(/its result is held back: .*\n- id: expected an integer, got the string "seven"$/);
  expect((await agent.call('up.leak')).text).toBe(LEAK('[secret]'));
  expect((await agent.call('up.broken')).text).toBe('TypeError: no\n[stack trace]');
});

it('the command says so as well', async () => {
  await using config = await configFile({ upstreams: { up: up.config } });
  const { code, stdout, stderr } = await run(['call', '-c', config.path, 'up.find', '{"pth":"a"}']);
  expect(code).toBe(1);
  expect(stdout + stderr).toMatch(/- pth: .* did you mean "path"\?/);
});
