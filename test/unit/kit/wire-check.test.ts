import { describe, expect, it } from 'vitest';
import { startSdk2Http } from '../../fixtures/upstreams/sdk2-server.ts';
import { AGENTS } from '../../kit/agents.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { connectPipe } from '../../kit/pipe-agent.ts';
import { everythingStdio } from '../../kit/real-servers.ts';
import { checkError, checkMessage, checkResult } from '../../kit/wire-check.ts';

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];

describe.each(AGENTS)('what servers say to a $era agent', ({ connect }) => {
  it('follows the rules: an official v2 server', async () => {
    await using server = await startSdk2Http();
    await using agent = await connect(server.url);
    for (const method of LISTS) {
      expect(checkResult(agent.version, method, await agent.result(method))).toEqual([]);
    }
    for (const name of ['text', 'picture']) {
      expect(checkResult(agent.version, 'tools/call', (await agent.call(name)).result)).toEqual([]);
    }
    const prompt = await agent.result('prompts/get', { name: 'greet', arguments: { name: 'friend' } });
    expect(checkResult(agent.version, 'prompts/get', prompt)).toEqual([]);
    const read = await agent.result('resources/read', { uri: 'notes://readme' });
    expect(checkResult(agent.version, 'resources/read', read)).toEqual([]);
    const hello = agent.era === 'modern' ? 'server/discover' : 'initialize';
    expect(checkResult(agent.version, hello, agent.hello)).toEqual([]);
  });

  it('follows the rules: every message of a scripted upstream', async () => {
    await using upstream = await startHttpUpstream({
      tools: ['progress', 'log', 'ask', 'grow'],
      resources: ['u://x'],
      prompts: ['p'],
    });
    await using agent = await connect(upstream.url, { capabilities: { elicitation: {} } });
    await using notices = await agent.listen({ tools: true, uris: ['u://x'] });
    await agent.call('grow');
    await upstream.notify({ updated: 'u://x' });
    await notices.next('notifications/resources/updated');
    const listening = agent.era === 'modern';
    for (const message of notices.all) {
      expect(checkMessage(agent.version, message, { listening })).toEqual([]);
    }
    for (const name of ['progress', 'log', 'ask']) {
      const running = agent.begin('tools/call', { name, arguments: {} }, { progressToken: 1 });
      for (const message of (await running.done).messages) {
        expect(checkMessage(agent.version, message, { method: 'tools/call' })).toEqual([]);
      }
    }
    for (const method of LISTS) {
      expect(checkResult(agent.version, method, await agent.result(method))).toEqual([]);
    }
  });
});

it('accepts the everything server', async () => {
  await using agent = await connectPipe(everythingStdio(), { era: 'legacy', capabilities: { roots: {} } });
  for (const method of LISTS) {
    expect(checkResult(LEGACY, method, await agent.result(method))).toEqual([]);
  }
  expect(checkResult(LEGACY, 'initialize', agent.hello)).toEqual([]);
});

describe('checkResult', () => {
  const block = { type: 'text', text: 'x' };
  const tools = [{ name: 'a', inputSchema: { type: 'object' } }];
  const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

  it.each([
    ['a missing resultType', MODERN, 'tools/call', { content: [] }],
    ['an unknown resultType', MODERN, 'tools/call', { content: [], resultType: 'task' }],
    ['missing hints', MODERN, 'tools/list', { tools, resultType: 'complete' }],
    ['a negative ttlMs', MODERN, 'tools/list', { tools, ...hints, ttlMs: -1 }],
    ['an empty cacheScope', MODERN, 'tools/list', { tools, ...hints, cacheScope: '' }],
    ['execution', MODERN, 'tools/list', { tools: [{ ...tools[0], execution: {} }], ...hints }],
    ['modern members', LEGACY, 'tools/list', { tools, ...hints }],
    ['an output that is no object', LEGACY, 'tools/call', { content: [block], structuredContent: [] }],
    [
      'an output schema of an array',
      LEGACY,
      'tools/list',
      { tools: [{ ...tools[0], outputSchema: { type: 'array' } }] },
    ],
    ['no content', LEGACY, 'tools/call', { structuredContent: {} }],
    ['an unknown block', LEGACY, 'tools/call', { content: [{ type: 'video' }] }],
    ['a URI without scheme', LEGACY, 'resources/read', { contents: [{ uri: 'x', text: '' }] }],
    ['a method of the other era', LEGACY, 'server/discover', {}],
    ['a method of the other era', MODERN, 'ping', { resultType: 'complete' }],
    ['input_required to a list', MODERN, 'tools/list', { resultType: 'input_required', requestState: 's' }],
    ['input_required without anything', MODERN, 'tools/call', { resultType: 'input_required' }],
    [
      'input_required with hints',
      MODERN,
      'resources/read',
      { resultType: 'input_required', requestState: 's', ttlMs: 1 },
    ],
    ['null', LEGACY, 'ping', null],
  ])('complains of %s (%s %s)', (_what, version, method, result) => {
    expect(checkResult(version, method, result)).not.toEqual([]);
  });

  it('lets unknown members pass', () => {
    const result = { content: [{ ...block, 'x-more': 1 }], futureMember: {}, _meta: { 'a/b': 1 } };
    expect(checkResult(LEGACY, 'tools/call', result)).toEqual([]);
    expect(checkResult(MODERN, 'tools/call', { ...result, resultType: 'complete' })).toEqual([]);
  });
});

describe('checkMessage and checkError', () => {
  const wire = (rest: object) => ({ jsonrpc: '2.0', ...rest });

  it.each([
    ['a request in the modern era', MODERN, wire({ id: 1, method: 'roots/list' })],
    ['a client request from a server', LEGACY, wire({ id: 1, method: 'tools/list' })],
    ['an unknown notification', LEGACY, wire({ method: 'notifications/vendor' })],
    ['progress without token', LEGACY, wire({ method: 'notifications/progress', params: { progress: 1 } })],
    ['a result without id', LEGACY, wire({ result: {} })],
    ['result and error at once', LEGACY, wire({ id: 1, result: {}, error: { code: 1, message: '' } })],
    ['no version', LEGACY, { id: 1, result: {} }],
  ])('complain of %s', (_what, version, message) => {
    expect(checkMessage(version, message)).not.toEqual([]);
  });

  it('want the subscription id on listen streams, and nothing of a single request', () => {
    const plain = wire({ method: 'notifications/tools/list_changed' });
    expect(checkMessage(MODERN, plain)).toEqual([]);
    expect(checkMessage(MODERN, plain, { listening: true })).not.toEqual([]);
    const params = { level: 'info', data: 1, _meta: { 'io.modelcontextprotocol/subscriptionId': 0 } };
    const log = wire({ method: 'notifications/message', params });
    expect(checkMessage(MODERN, log, { listening: true })).not.toEqual([]);
  });

  it.each([
    [MODERN, -32002, {}],
    [MODERN, -32042, {}],
    [LEGACY, -32020, undefined],
    [MODERN, -32021, {}],
    [MODERN, -32022, { supported: ['x'] }],
    [MODERN, 1.5, undefined],
  ])('complain of the error %s %s', (version, code, data) => {
    expect(checkError(version, { code, message: 'x', data })).not.toEqual([]);
  });

  it('accept the errors of their era', () => {
    expect(checkError(LEGACY, { code: -32002, message: 'x', data: { uri: 'a:b' } })).toEqual([]);
    expect(
      checkError(MODERN, { code: -32022, message: 'x', data: { supported: [], requested: '1' } }),
    ).toEqual([]);
  });
});
