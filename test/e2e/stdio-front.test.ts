import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../src/base/json.ts';
import { stdio } from '../../src/cli/stdio.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectHere, connectPipe, type PipeAgent, type PipeOptions } from '../kit/pipe-agent.ts';
import { descendants, signal, untilAllGone } from '../kit/processes.ts';
import { MAIN } from '../kit/program.ts';
import { type RealHttp, startEverythingHttp } from '../kit/real-servers.ts';
import { connectSdk, SDK_CLIENTS } from '../kit/sdk-clients.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { NOWHERE, run } from '../unit/cli/run.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const ERAS = ['legacy', 'modern'] as const;

let folder: string;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-stdio-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function configFile(config: object): Promise<string> {
  files += 1;
  const file = join(folder, `gateway-${files}.yaml`);
  await writeFile(file, stringify({ sealingKey: KEY, ...config }));
  return file;
}

/** The command that a host would be told to start. */
async function patchbay(config: object, ...args: readonly string[]) {
  const file = await configFile(config);
  const env = { PATH: process.env['PATH'] ?? '' };
  return { command: process.execPath, args: [MAIN, 'stdio', '-c', file, ...args], env };
}

interface Scene extends AsyncDisposable {
  readonly up: ScriptedUpstream;
  readonly agent: PipeAgent;
}

async function scene(
  options: PipeOptions,
  script: Script = {},
  config: JsonObject = {},
  upstream: JsonObject = {},
): Promise<Scene> {
  const up = await startHttpUpstream(
    { id: 'up', tools: ['echo', 'slow', 'progress', 'ask'], ...script },
    upstream,
  );
  const command = await patchbay({ upstreams: { up: up.config }, ...config }, '--log-level', 'debug');
  return between(up, await connectPipe(command, options));
}

/** The command itself, in this process: for what a process of its own makes no difference to. */
async function sceneHere(options: PipeOptions, config: JsonObject = {}): Promise<Scene> {
  const up = await startHttpUpstream({ id: 'up', tools: ['echo', 'slow', 'progress', 'ask'] });
  const file = await configFile({ upstreams: { up: up.config }, ...config });
  const agent = await connectHere(
    (pipes) => stdio({ config: file, logLevel: 'silent' }, NOWHERE, pipes),
    options,
  );
  return between(up, agent);
}

function between(up: ScriptedUpstream, agent: PipeAgent): Scene {
  const end = async () => {
    await agent[Symbol.asyncDispose]();
    await up[Symbol.asyncDispose]();
  };
  return { up, agent, [Symbol.asyncDispose]: end };
}

const text = (agent: PipeAgent) => Buffer.concat(agent.chunks).toString('utf8');
const call = (name: string, args: JsonObject = {}, meta: JsonObject = {}) => ({
  name: `up.${name}`,
  arguments: args,
  _meta: meta,
});
const subscription = (message: JsonObject) =>
  (message['params'] as { _meta: JsonObject })._meta[META.subscription];

describe.each(ERAS)('a %s client over a pipe', (era) => {
  const capabilities = { elicitation: { form: {} } };
  let here: Scene;
  let agent: PipeAgent;
  beforeAll(async () => {
    const config = { limits: { maxBodyBytes: 10_000 } };
    here = await scene({ era, capabilities }, { era: 'legacy' }, config, { isolation: 'user' });
    agent = here.agent;
  });
  afterAll(() => here?.[Symbol.asyncDispose]());

  it('is greeted, lists and calls, and gets progress before its result', async () => {
    expect(agent.hello).toMatchObject({ capabilities: { tools: { listChanged: true } } });
    expect(await agent.names()).toEqual(['up.echo', 'up.slow', 'up.progress', 'up.ask']);
    expect(await agent.call('up.echo', { text: 'a\nb — ü' })).toMatchObject({
      structured: { text: 'a\nb — ü' },
    });
    await agent.result('tools/call', call('progress', { steps: 2 }, { progressToken: 'p' }));
    const told = agent.notices.all.filter(({ method }) => method === 'notifications/progress');
    expect(told.map(({ params }) => params)).toMatchObject([
      { progressToken: 'p', progress: 1 },
      { progressToken: 'p', progress: 2 },
    ]);
  });

  it('C-063: cancels a call by its id, and hears nothing more of it', async () => {
    const { up } = here;
    agent.begin('tools/call', call('slow'), 'the slow one');
    await expect.poll(() => up.received.some(({ params }) => params['name'] === 'slow')).toBe(true);
    agent.notify('notifications/cancelled', { requestId: 'the slow one' });
    await up.untilReceived('notifications/cancelled');
    agent.notify('notifications/cancelled', { requestId: 'never was' });
    expect(await agent.call('up.echo', { after: 1 })).toMatchObject({ structured: { after: 1 } });
    expect(text(agent)).not.toContain('the slow one');
  });

  it('is asked what a server wants to know, in the way of its era', async () => {
    const params = call('ask', { kind: 'elicitation' });
    const answer = { action: 'accept', content: { name: 'Ada' } };
    if (era === 'legacy') {
      const { done } = agent.begin('tools/call', params);
      const question = await agent.notices.next('elicitation/create');
      agent.write(JSON.stringify({ jsonrpc: '2.0', id: question['id'], result: answer }));
      expect(await done).toMatchObject({ result: { structuredContent: { answers: [{ result: answer }] } } });
      return;
    }
    const { inputRequests, requestState } = await agent.result('tools/call', params);
    const [[key, question]] = Object.entries(inputRequests as Record<string, JsonObject>) as [
      [string, JsonObject],
    ];
    expect(question).toMatchObject({ method: 'elicitation/create' });
    const retry = { ...params, inputResponses: { [key]: answer }, requestState };
    expect(await agent.result('tools/call', retry)).toMatchObject({
      structuredContent: { answers: [{ result: answer }] },
    });
    expect(agent.notices.count('elicitation/create')).toBe(0);
  });

  it('gets an error for what is no message, and goes on', async () => {
    const before = text(agent).length;
    const large = 'x'.repeat(20_000);
    for (const line of [
      '{"jsonrpc":',
      '7',
      '{"jsonrpc":"2.0","id":5,"method":7}',
      `{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"x":"${large}"}}`,
      `{"method":"tools/call","params":{"x":"${large}"},"jsonrpc":"2.0","id":"last"}`,
      `{"a":"${large}"}`,
      '[]',
    ]) {
      agent.write(line);
    }
    await agent.names();
    const errors = text(agent)
      .slice(before)
      .split('\n')
      .filter((line) => line.includes('"error"'))
      .map((line) => JSON.parse(line) as { id?: unknown; error: { code: number; data: { code: string } } });
    expect(errors.map(({ id, error }) => [id, error.code, error.data.code])).toEqual([
      [undefined, -32700, 'PARSE_FAILED'],
      [undefined, -32600, 'REQUEST_INVALID'],
      [5, -32600, 'REQUEST_INVALID'],
      ['first', -32600, 'BODY_TOO_LARGE'],
      ['last', -32600, 'BODY_TOO_LARGE'],
      [undefined, -32600, 'BODY_TOO_LARGE'],
      [undefined, -32600, 'REQUEST_INVALID'],
    ]);
  });

  it('sees nothing but messages on stdout, and the log on stderr', async () => {
    await expect.poll(() => agent.stderr()).toContain('"level"');
    expect(agent.noise).toEqual([]);
  });

  it('ends it by closing its end: exit code 0, and no process is left', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using agent = await connectPipe(await patchbay({ upstreams: { up: up.config } }), { era });
    await agent.names();
    const children = descendants(agent.pid);
    expect(children.length).toBeGreaterThan(0);
    agent.endInput();
    expect(await agent.exit).toBe(0);
    await untilAllGone(children);
  });

  it('still gets the answers to what it asked before it closed its end', async () => {
    await using other = await sceneHere({ era });
    const { agent, up } = other;
    await agent.names();
    const { done } = agent.begin('tools/call', call('slow'));
    await up.untilReceived('tools/call');
    agent.endInput();
    await expect.poll(() => up.release('slow')).toBe(1);
    expect(await done).toMatchObject({ result: { structuredContent: { done: true } } });
    expect(await agent.exit).toBe(0);
  });

  it('may end it by a signal: what is under way is cancelled, and no process is left', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['slow'] });
    await using agent = await connectPipe(await patchbay({ upstreams: { up: up.config } }), { era });
    await agent.names();
    const children = descendants(agent.pid);
    agent.begin('tools/call', call('slow'), 'the slow one');
    await up.untilReceived('tools/call');
    signal(agent.pid, 'SIGTERM');
    expect(await agent.exit).toBe(0);
    await untilAllGone(children);
    expect(text(agent)).not.toContain('the slow one');
  });
});

describe('a modern client over a pipe', () => {
  const listen = (agent: PipeAgent, id: string, notifications: JsonObject) =>
    agent.begin('subscriptions/listen', { notifications }, id);

  it('listens as often as it likes: each notice names its subscription, none comes after a cancel', async () => {
    await using here = await sceneHere({ era: 'modern' });
    const { agent, up } = here;
    await agent.names();
    listen(agent, 'one', { toolsListChanged: true });
    listen(agent, 'two', { toolsListChanged: true, promptsListChanged: true });
    const acknowledged = [await agent.notices.next(), await agent.notices.next()];
    expect(acknowledged.map((message) => [message['method'], subscription(message)])).toEqual([
      ['notifications/subscriptions/acknowledged', 'one'],
      ['notifications/subscriptions/acknowledged', 'two'],
    ]);
    await up.untilListening();
    await up.addTool('new');
    await up.notify('tools');
    const changes = [await agent.notices.next(), await agent.notices.next()];
    expect(changes.map((message) => [message['method'], subscription(message)])).toEqual([
      ['notifications/tools/list_changed', 'one'],
      ['notifications/tools/list_changed', 'two'],
    ]);
    agent.notify('notifications/cancelled', { requestId: 'one' });
    await up.addTool('newer');
    await up.notify('tools');
    expect(subscription(await agent.notices.next())).toBe('two');
    await agent.names();
    expect(agent.notices.all.length).toBe(5);
    expect(text(agent)).not.toContain('"id":"one"');
  });

  it.each(['EOF', 'SIGTERM'])('hears that its subscriptions end with the process (%s)', async (how) => {
    await using here = await (how === 'EOF' ? sceneHere : scene)({ era: 'modern' });
    const { agent } = here;
    const { done } = listen(agent, 'mine', { toolsListChanged: true });
    await agent.notices.next('notifications/subscriptions/acknowledged');
    if (how === 'EOF') {
      agent.endInput();
    } else {
      signal(agent.pid, how as NodeJS.Signals);
    }
    expect(await done).toMatchObject({
      result: { resultType: 'complete', _meta: { [META.subscription]: 'mine' } },
    });
    await agent.notices.next(
      ({ method, params }) =>
        method === 'notifications/cancelled' && (params as { requestId: unknown }).requestId === 'mine',
    );
    expect(await agent.exit).toBe(0);
  });

  it('is told what is wrong with its envelope', async () => {
    await using here = await sceneHere({ era: 'modern', greet: false });
    const { agent } = here;
    const meta = { [META.version]: '2099-01-01', [META.capabilities]: {} };
    const { error: version } = await agent.begin('server/discover', { _meta: meta }).done;
    expect(version).toMatchObject({
      code: -32022,
      data: { supported: expect.arrayContaining(['2026-07-28']) },
    });
    const bare = { _meta: { [META.capabilities]: null } };
    expect((await agent.begin('server/discover', bare).done).error).toMatchObject({ code: -32602 });
    expect((await agent.begin('ping').done).error).toMatchObject({ code: -32601 });
  });
});

describe('a client that no longer reads', () => {
  const discover = {
    jsonrpc: '2.0',
    id: 1,
    method: 'server/discover',
    params: { _meta: { [META.version]: '2026-07-28', [META.capabilities]: {} } },
  };
  const lines = `${JSON.stringify(discover)}\n`.repeat(500);

  it('is asked for no more until it has read, so that nothing piles up', async () => {
    await using gateway = await startGateway({ upstreams: {} });
    const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
    const client = await gateway.gateway.stdio({ input, output });
    input.write(lines);
    await expect.poll(() => input.isPaused()).toBe(true);
    let answers = 0;
    output.on('data', (read: string) => {
      answers += read.split('\n').length - 1;
    });
    await expect.poll(() => answers).toBe(500);
    input.end();
    await client.ended;
    await client.close(0, new AbortController().signal);
  });

  it('is waited for when it reads slowly, however much it asks: nothing is lost, and it is not cut', async () => {
    await using gateway = await startGateway({ upstreams: {}, streams: { bufferBytes: '32KiB' } });
    const pieces = 30;
    const asks = async function* () {
      for (let piece = 0; piece < pieces; piece += 1) {
        yield Buffer.from(lines);
        // A pipe does not bring all at once either.
        await new Promise(setImmediate);
      }
    };
    const [input, output] = [Readable.from(asks()), new PassThrough()];
    const client = await gateway.gateway.stdio({ input, output });
    let answers = 0;
    const read = () => {
      const bytes: Buffer | null = output.read(Math.min(16_384, output.readableLength));
      answers += bytes?.filter((byte) => byte === 0x0a).length ?? 0;
      return answers;
    };
    await expect.poll(() => input.isPaused()).toBe(true);
    await expect.poll(read, { interval: 1 }).toBe(500 * pieces);
    await client.ended;
    await client.close(0, new AbortController().signal);
  });

  it('is given up when its end is closed', async () => {
    const { command, args, env } = await patchbay({ upstreams: {} });
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    const exit = once(child, 'exit');
    // Its end is seen at `exit`.
    child.stdin.on('error', () => undefined);
    child.stdout.destroy();
    child.stdin.write(lines);
    expect(await exit).toEqual([0, null]);
  });
});

describe('the command line', () => {
  it('chooses the style of the names, and one upstream alone', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    const config = { upstreams: { up: up.config } };
    await using strict = await connectPipe(await patchbay(config, '--names', 'strict'), { era: 'modern' });
    expect(await strict.names()).toEqual(['up__echo']);
    await using alone = await connectPipe(await patchbay(config, '--upstream', 'up'), { era: 'modern' });
    expect(await alone.names()).toEqual(['echo']);
    const wrong = await run(['stdio', '-c', await configFile(config), '--upstream', 'down']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('no upstream "down"');
    const resting = { upstreams: { up: { ...up.config, enabled: false } } };
    const off = await run(['stdio', '-c', await configFile(resting), '--upstream', 'up']);
    expect(off).toMatchObject({ code: 2, stdout: '' });
    expect(off.stderr).toContain('"up" is switched off');
  });
});

describe('a legacy client over a pipe', () => {
  it('hears of list changes by itself', async () => {
    await using here = await sceneHere({ era: 'legacy' });
    await here.agent.names();
    await here.up.untilListening();
    await here.up.addTool('new');
    await here.up.notify('tools');
    await here.agent.notices.next('notifications/tools/list_changed');
  });

  it('has to initialize first, may do so again, and may speak of a modern version meanwhile', async () => {
    await using here = await sceneHere({ era: 'legacy', greet: false });
    const { agent } = here;
    expect((await agent.begin('tools/list').done).error).toMatchObject({ code: -32600 });
    for (const protocolVersion of ['2024-11-05', '2025-11-25']) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } };
      expect(await agent.result('initialize', params)).toMatchObject({ protocolVersion });
    }
    expect((await agent.names()).length).toBe(4);
    const _meta = { [META.version]: '2026-07-28', [META.capabilities]: {} };
    expect(await agent.result('server/discover', { _meta })).toMatchObject({ resultType: 'complete' });
  });

  it('may send batches in 2025-03-26, and only there', async () => {
    await using old = await sceneHere({ era: 'legacy', version: '2025-03-26' });
    await old.agent.names();
    old.agent.write(
      JSON.stringify([
        { jsonrpc: '2.0', id: 'a', method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: call('echo', { x: 1 }) },
      ]),
    );
    await expect.poll(() => text(old.agent)).toContain('"id":"b"');
    const line = text(old.agent)
      .split('\n')
      .find((each) => each.startsWith('['));
    expect((JSON.parse(line ?? '[]') as { id: string }[]).map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  });
});

describe('the session of a legacy client over a pipe', () => {
  it('lives as long as the process, not as long as an id of a session would', async () => {
    await using here = await sceneHere({ era: 'legacy' }, { sessions: { maxAge: '1ms' } });
    expect((await here.agent.names()).length).toBe(4);
  });
});

describe('the client of the SDK', () => {
  let every: RealHttp;
  beforeAll(async () => {
    every = await startEverythingHttp();
  });
  afterAll(() => every?.[Symbol.asyncDispose]());

  it.each(SDK_CLIENTS)('%s works with a real server behind it', async (label) => {
    const target = await patchbay({ lists: { firstWait: '20s' }, upstreams: { every: { url: every.url } } });
    await using sdk = await connectSdk(label, target);
    const tools = await sdk.listTools();
    expect(tools.map(({ name }) => name)).toContain('every.echo');
    const { content } = await sdk.callTool('every.echo', { message: 'hi' });
    expect(content).toMatchObject([{ type: 'text', text: 'Echo: hi' }]);
    await sdk.listen();
    const { contents } = await sdk.readResource(String((await sdk.listResources())[0]?.['uri']));
    expect(contents).toHaveLength(1);
  });
});
