import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { sdk2Command, startSdk2Http } from '../../fixtures/upstreams/sdk2-server.ts';
import { AGENTS } from '../../kit/agents.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { connectLegacy } from '../../kit/legacy-agent.ts';
import { connectPipe } from '../../kit/pipe-agent.ts';
import {
  everythingStdio,
  filesystemStdio,
  memoryStdio,
  startEverythingHttp,
} from '../../kit/real-servers.ts';
import { connectSdk, SDK_CLIENTS, type SdkFace, type SdkLabel } from '../../kit/sdk-clients.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../../kit/upstream.ts';

const EVERYTHING: Script = {
  id: 'scripted',
  tools: ['echo', 'progress', 'ask', 'grow'],
  prompts: ['hello'],
  resources: ['file:///a'],
  templates: ['db://{table}/{id}'],
  pageSize: 2,
  instructions: 'Be kind.',
};

const ERA_OF: Readonly<Record<SdkLabel, string>> = {
  v1: '2025-11-25',
  'v2-auto': '2026-07-28',
  'v2-legacy': '2025-11-25',
  'v2-modern': '2026-07-28',
};

/** Everything an official client can do with a scripted server. */
async function exercise(client: SdkFace, upstream: ScriptedUpstream): Promise<void> {
  expect(client.version).toBe(ERA_OF[client.label]);
  expect(client.instructions).toBe('Be kind.');
  expect((await client.listTools()).map((tool) => tool['name'])).toEqual(['echo', 'progress', 'ask', 'grow']);
  expect((await client.listPrompts()).map((prompt) => prompt['name'])).toEqual(['hello']);
  expect((await client.listResources()).map((resource) => resource['uri'])).toEqual(['file:///a']);
  expect((await client.listTemplates()).map((each) => each['uriTemplate'])).toEqual(['db://{table}/{id}']);
  expect(await client.callTool('echo', { a: 'é' })).toMatchObject({ structuredContent: { a: 'é' } });
  expect(await client.getPrompt('hello', { topic: 'x' })).toMatchObject({ messages: [{ role: 'user' }] });
  expect(await client.readResource('db://t/1')).toMatchObject({ contents: [{ uri: 'db://t/1' }] });
  const ref = { type: 'ref/prompt', name: 'hello' };
  expect(await client.complete(ref, { name: 'topic', value: 'a' })).toMatchObject({
    completion: { values: ['a-1', 'a-2', 'hello'] },
  });
  const progress: unknown[] = [];
  // One step at a time: the SDKs lose progress that comes in one piece with the response.
  const onProgress = (each: JsonObject) => {
    progress.push(each['progress']);
    void upstream.release('step');
  };
  await client.callTool('progress', { steps: 2, gate: 'step' }, { onProgress });
  expect(progress).toEqual([1, 2]);
  expect(await client.callTool('ask', { rounds: 2 })).toMatchObject({
    structuredContent: {
      answers: [{ result: { action: 'accept' } }, { result: { content: { name: 'friend' } } }],
    },
  });
  await client.listen();
  await upstream.untilListening();
  await client.callTool('grow', { name: 'late' });
  await client.notices.next('notifications/tools/list_changed');
}

const ABLE = {
  capabilities: { elicitation: { form: {} } },
  answers: { 'elicitation/create': () => ({ action: 'accept', content: { name: 'friend' } }) },
};

describe.each(SDK_CLIENTS)('the official client %s and a scripted upstream', (label) => {
  it.each(['json', 'sse'] as const)('talk over Streamable HTTP with %s answers', async (answers) => {
    await using upstream = await startHttpUpstream({ ...EVERYTHING, http: { answers } });
    await using client = await connectSdk(label, upstream, ABLE);
    await exercise(client, upstream);
  });

  it('talk over Streamable HTTP with event ids', async () => {
    await using upstream = await startHttpUpstream({
      ...EVERYTHING,
      http: { answers: 'sse', eventIds: true },
    });
    await using client = await connectSdk(label, upstream, ABLE);
    await exercise(client, upstream);
  });

  it('talk over stdio', async () => {
    await using upstream = await startStdioUpstream(EVERYTHING);
    await using client = await connectSdk(label, upstream, ABLE);
    await exercise(client, upstream);
  });
});

describe.each(['v1', 'v2-legacy'] as const)('the official client %s', (label) => {
  it('talks to a scripted upstream over the 2024-11-05 pair', async () => {
    await using upstream = await startHttpUpstream({ ...EVERYTHING, http: { sse: 'only' } });
    await using client = await connectSdk(label, { sseUrl: upstream.sseUrl }, ABLE);
    await exercise(client, upstream);
  });
});

describe('what official clients find out about the era', () => {
  it.each([
    ['v2-auto', 'legacy', '2025-11-25'],
    ['v2-auto', 'modern', '2026-07-28'],
  ] as const)('%s settles with a %s-only server on %s', async (label, era, version) => {
    await using http = await startHttpUpstream({ ...EVERYTHING, era });
    await using overHttp = await connectSdk(label, http);
    expect(overHttp.version).toBe(version);
    await using stdio = await startStdioUpstream({ ...EVERYTHING, era });
    await using overStdio = await connectSdk(label, stdio);
    expect(overStdio.version).toBe(version);
  });

  it.each([
    ['v1', 'modern'],
    ['v2-modern', 'legacy'],
  ] as const)('%s cannot talk to a %s-only server', async (label, era) => {
    await using upstream = await startHttpUpstream({ era });
    await expect(connectSdk(label, upstream)).rejects.toThrow();
  });
});

describe.each(AGENTS)('the $era agent and an official v2 server', ({ era, connect }) => {
  it('talk over HTTP', async () => {
    await using server = await startSdk2Http(era === 'modern' ? 'modern' : 'both');
    await using agent = await connect(server.url, {
      capabilities: { elicitation: { form: {} } },
      answers: { 'elicitation/create': () => ({ action: 'accept', content: { sure: true } }) },
    });
    expect(await agent.names()).toEqual(['text', 'add', 'picture', 'steps', 'confirm', 'grow']);
    const { result } = await agent.call('text', { words: 'hi' });
    expect(result).toMatchObject({ content: [{ text: 'hi' }], _meta: { 'com.example/kept': [1, null] } });
    expect((await agent.call('add', { a: 1, b: 2 })).structured).toEqual({ sum: 3 });
    expect((await agent.call('steps', {}, { progressToken: 's' })).progress).toHaveLength(3);
    if (era === 'modern') {
      expect(await agent.call('confirm')).toMatchObject({ text: 'did it', rounds: 2 });
      await using notices = await agent.listen({ tools: true });
      await agent.call('grow');
      await notices.next('notifications/tools/list_changed');
      expect(await agent.names()).toContain('grown');
    }
  });

  it('talk over stdio', async () => {
    await using agent = await connectPipe(sdk2Command(era === 'modern' ? 'modern' : 'both'), { era });
    if (era === 'modern') {
      agent.begin('subscriptions/listen', { notifications: { toolsListChanged: true } });
      await agent.notices.next('notifications/subscriptions/acknowledged');
    }
    await agent.call('grow');
    await agent.notices.next('notifications/tools/list_changed');
    expect(await agent.names()).toContain('grown');
  });
});

describe('the everything server', () => {
  it('talks to the pipe agent over stdio', async () => {
    await using agent = await connectPipe(everythingStdio(), { era: 'legacy' });
    expect((await agent.call('echo', { message: 'hello' })).result).toMatchObject({
      content: [{ type: 'text', text: 'Echo: hello' }],
    });
  });

  it('is reached over the 2024-11-05 pair', async () => {
    await using server = await startEverythingHttp('sse');
    await using client = await connectSdk('v1', { sseUrl: server.url });
    expect(await client.callTool('echo', { message: 'x' })).toMatchObject({ content: [{ text: 'Echo: x' }] });
  });

  it('talks to the legacy agent over HTTP', async () => {
    await using server = await startEverythingHttp();
    await using agent = await connectLegacy(server.url);
    await using notices = await agent.listen();
    expect((await agent.call('echo', { message: 'hello' })).text).toBe('Echo: hello');
    expect(await agent.names('resources')).not.toEqual([]);
    const steps = await agent.call(
      'trigger-long-running-operation',
      { duration: 0.2, steps: 2 },
      { progressToken: 0 },
    );
    expect(steps.progress.map((each) => each['progressToken'])).toEqual([0, 0]);
    expect(notices.count('notifications/progress')).toBe(0);
    expect((await agent.http('DELETE').done).status).toBe(200);
    // Not the 404 of the specification: real servers answer a dead session in their own ways.
    expect((await agent.request('ping')).status).toBe(400);
  });
});

it.each([
  ['filesystem', filesystemStdio(tmpdir()), 'list_allowed_directories'],
  ['memory', memoryStdio(), 'read_graph'],
])('the %s server starts from this kit', async (_name, command, tool) => {
  await using agent = await connectPipe(command, { era: 'legacy' });
  expect(await agent.names()).toContain(tool);
});
