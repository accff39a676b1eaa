import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../src/base/json.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { alive, processesMarked } from '../kit/processes.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const EVERYTHING = {
  command: process.execPath,
  args: [
    fileURLToPath(
      new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
    ),
    'stdio',
  ],
};
const ABSENT = { command: 'there-is-no-such-command' };

let folder: string;
let configs = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A configuration file with this content: text as it is, anything else as YAML. */
async function configFile(content: unknown): Promise<string> {
  configs += 1;
  const path = join(folder, `gateway-${configs}.yaml`);
  await writeFile(path, typeof content === 'string' ? content : stringify(content));
  return path;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the real program. What it starts can be found by its `mark`, also when it has outlived it. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const mark = `PATCHBAY_TEST_RUN=${process.pid}-${configs}-${Math.random()}`;
  const [name = '', value] = mark.split('=');
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, XDG_STATE_HOME: join(folder, 'state'), [name]: value, ...env },
  });
  const ended: Promise<Ended> = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[code, signal], stdout, stderr]) => ({ code, signal, stdout, stderr }),
  );
  return { child, ended, mark };
}

async function run(
  args: readonly string[],
  options: { readonly stdin?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ended> {
  const { child, ended, mark } = start(args, options.env);
  child.stdin.end(options.stdin ?? '');
  const result = await ended;
  expect(processesMarked(mark), 'left behind').toEqual([]);
  return result;
}

const oneTool = (tool: string) => startStdioUpstream({ id: 'up', tools: [tool] });

describe('check', () => {
  it('shows the state and the names of every upstream, binds no port, and leaves nothing behind', async () => {
    await using files = await startStdioUpstream({
      id: 'files',
      tools: ['read', 'write'],
      prompts: ['greet'],
      resources: ['note://one'],
      templates: ['note://{name}'],
    });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const listen = { port: (taken.address() as { port: number }).port };
    const config = await configFile({ listen, upstreams: { files: files.config, every: EVERYTHING } });

    const { code, stdout, stderr } = await run(['check', '-c', config]);
    taken.close();

    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^2 upstreams$/m);
    expect(stdout).toMatch(/^ {2}files {2}ready {2}2 tools, 1 prompt, 1 resource, 1 template \(modern\)$/m);
    expect(stdout).toMatch(/^ {2}every {2}ready .* \(legacy\)$/m);
    expect(stdout).toContain('files\n  2 tools\n    files.read\n    files.write\n  1 prompt\n    files.greet\n');
    expect(stdout).toContain('    every.echo\n');
    expect(stdout).toMatch(/\nResult: ok\n$/);
    expect(files.everyPid).toHaveLength(files.starts);
    expect(files.everyPid.filter(alive)).toEqual([]);
  });

  it('C-009: names each malformed item with its reason and fails, but lists the good ones', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['good', { title: 'nameless' }, 7] });
    const config = await configFile({ upstreams: { up: up.config } });
    const { code, stdout } = await run(['check', '-c', config]);
    expect(code).toBe(1);
    expect(stdout).toContain('    up.good\n');
    expect(stdout).toContain('2 findings\n');
    expect(stdout).toMatch(/^ {2}error: up, tools, #1 \(item\.no-name\)\n {4}Left out: it has no name\. Ask /m);
    expect(stdout).toMatch(/^ {2}error: up, tools, #2 \(item\.not-an-object\)$/m);
    expect(stdout).toMatch(/\nResult: failed: 2 errors in what the servers offer\n$/);
  });

  it('fails where an upstream is down, and says why', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({ upstreams: { gone: ABSENT, up: up.config } });
    const { code, stdout, stderr } = await run(['check', '-c', config]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}gone {2}backoff {2}UPSTREAM_COMMAND: /m);
    expect(stdout).toContain('    up.echo\n');
    expect(stdout).toMatch(/\nResult: failed: gone is not ready\n$/);
    expect(stderr).toContain('"upstream":"gone"');
  });

  it('passes where what is down is optional, or off', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({
      upstreams: {
        gone: { ...ABSENT, optional: true },
        poor: { command: 'x', optional: true, env: { TOKEN: `\${env:NOT_SET}` } },
        off: { ...ABSENT, enabled: false },
        up: up.config,
      },
    });
    const { code, stdout } = await run(['check', '-c', config, '--log-level', 'silent']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}gone {2}backoff, optional {2}UPSTREAM_COMMAND/m);
    expect(stdout).toMatch(/^ {2}poor {2}off, optional {6}upstreams\.poor\.env\.TOKEN: .*NOT_SET/m);
    expect(stdout).toMatch(/^ {2}off {3}off$/m);
  });

  it('C-015: names the lists that could not be read', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      tools: ['echo'],
      prompts: ['greet'],
      faults: [{ on: 'tools/list', do: { error: { code: -32000, message: 'no' } } }],
    });
    const config = await configFile({ upstreams: { up: up.config } });
    const { code, stdout } = await run(['check', '-c', config]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}up {2}stale {2}0 tools, 1 prompt.* its tools could not be read/m);
  });

  it('C-002, C-005: shows shortened and collided names, and the strict form beside the dotted one', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['n'.repeat(140), 'a.b', 'a_b'] });
    const config = await configFile({ upstreams: { up: up.config } });
    const { code, stdout } = await run(['check', '-c', config, '--strict-names']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/warning: up, tools, n+… \(name\.shortened\)/);
    expect(stdout).toMatch(/^ {4}up\.a\.b +up__a_b_[a-z2-7]{8}$/m);
    expect(stdout).toMatch(/info: up, tools, a\.b \(name\.collided\)\n {4}Another one would have the same name\./);
  });

  it('prints the same as JSON', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['a.b', null], resources: ['note://one'] });
    const config = await configFile({ upstreams: { gone: { ...ABSENT, optional: true }, up: up.config } });
    const { code, stdout } = await run(['check', '--json', '-c', config]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      upstreams: {
        gone: { state: 'backoff', optional: true, why: expect.stringContaining('UPSTREAM_COMMAND') },
        up: { state: 'ready', optional: false, era: 'modern', tools: 1, findings: 1 },
      },
      catalog: {
        up: {
          tools: [{ dotted: 'up.a.b', strict: 'up__a_b', original: 'a.b' }],
          prompts: [],
          resources: [{ original: 'note://one' }],
        },
      },
      findings: [{ id: 'item.not-an-object', severity: 'error', upstream: 'up', kind: 'tools', item: '#1' }],
    });
  });

  it('reports every mistake of the configuration at once, with --json on stdout too', async () => {
    const config = await configFile('nam: x\nupstreams:\n  a: { comand: x }\n');
    const asText = await run(['check', '-c', config]);
    expect(asText).toMatchObject({ code: 2, stdout: '' });
    expect(asText.stderr).toContain(`${config}:1:1 nam: unknown key (did you mean "name"?)`);
    expect(asText.stderr).toContain('upstreams.a.comand');
    const asJson = await run(['check', '-c', config, '--json']);
    expect(asJson.code).toBe(2);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.objectContaining({ path: 'nam', line: 1, nearest: 'name' })]),
    });
  });

  it('ends at once and without orphans when it is interrupted while an upstream does not answer', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      era: 'legacy',
      faults: [{ on: '*', do: { silence: true } }],
      stdio: { ignoreEof: true },
    });
    const config = await configFile({ upstreams: { up: { ...up.config, stop: { grace: '200ms' } } } });
    const { child, ended, mark } = start(['check', '-c', config]);
    await up.untilReceived('server/discover');
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 1, signal: null, stdout: '', stderr: 'Interrupted.\n' });
    expect(processesMarked(mark)).toEqual([]);
    expect(up.everyPid.filter(alive)).toEqual([]);
  });
});

describe('tools, prompts, resources', () => {
  it('lists what there is, one line each', async () => {
    await using up = await startStdioUpstream({
      id: 'up',
      tools: [{ name: 'read', title: 'Read', description: 'Reads.\nLong text.', inputSchema: { type: 'object' } }],
      prompts: ['greet'],
      resources: [{ uri: 'note://one', name: 'one', mimeType: 'text/plain' }],
      templates: [{ uriTemplate: 'note://{id}', name: 'any', description: 'Any\u001b[2J note' }],
    });
    const config = await configFile({ upstreams: { up: up.config } });
    expect(await run(['tools', '-c', config])).toMatchObject({
      code: 0,
      stdout: 'up: 1 tool\n  up.read  Read: Reads.\n',
      stderr: '',
    });
    expect((await run(['prompts', '-c', config])).stdout).toBe('up: 1 prompt\n  up.greet  Prompt greet\n');
    expect((await run(['resources', '-c', config])).stdout).toBe(
      'up: 1 resource, 1 template\n  note://one   text/plain  one\n  note://{id}              any: Any note\n',
    );
  });

  it('prints as JSON what the gateway lists', async () => {
    const upstreams = { every: EVERYTHING };
    const config = await configFile({ upstreams });
    const tools = await run(['tools', '--json', '-c', config]);
    const resources = await run(['resources', '--json', '-c', config]);
    await using gateway = await startGateway({ upstreams });
    await using agent = await connectModern(gateway.url);
    expect(JSON.parse(tools.stdout)).toEqual(await agent.list('tools'));
    expect(JSON.parse(resources.stdout)).toEqual([
      ...(await agent.list('resources')),
      ...(await agent.list('templates')),
    ]);
  });

  it('fails where an upstream is down, and prints the others all the same', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({
      upstreams: { gone: ABSENT, spare: { ...ABSENT, optional: true }, up: up.config },
    });
    const all = await run(['tools', '--json', '-c', config, '--log-level', 'silent']);
    expect(all.code).toBe(1);
    expect(JSON.parse(all.stdout)).toMatchObject([{ name: 'up.echo' }]);
    expect(all.stderr).toMatch(/^gone is not ready \(backoff\): UPSTREAM_COMMAND: .*\nspare .* but optional: .*\n$/);
    const one = await run(['tools', '-c', config, '--upstream', 'up', '--log-level', 'silent']);
    expect(one).toMatchObject({ code: 0, stderr: '' });
    const spare = await run(['tools', '-c', config, '--upstream', 'spare', '--log-level', 'silent']);
    expect(spare).toMatchObject({ code: 1, stdout: 'There are no tools.\n' });
  });

  it('knows both styles of names, and one upstream alone', async () => {
    await using a = await startStdioUpstream({ id: 'a', tools: ['x.y'] });
    await using b = await startStdioUpstream({ id: 'b', tools: ['z'] });
    const config = await configFile({ upstreams: { a: a.config, b: b.config } });
    const strict = await run(['tools', '-c', config, '--names', 'strict', '--upstream', 'a', '--json']);
    expect(JSON.parse(strict.stdout).map((tool: JsonObject) => tool.name)).toEqual(['a__x_y']);
    const wrong = await run(['tools', '-c', config, '--upstream', 'c']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('there is no upstream "c" in the configuration');
  });

  it('ends quietly when nobody reads on', async () => {
    const config = await configFile({ upstreams: { every: EVERYTHING } });
    const { child, ended, mark } = start(['tools', '-c', config]);
    child.stdout.destroy();
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    expect(processesMarked(mark)).toEqual([]);
  });
});

describe('call', () => {
  it('takes arguments from the command line, from stdin, or none', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({ upstreams: { up: up.config } });
    const given = await run(['call', 'up.echo', '{"a": 1}', '-c', config]);
    expect(given).toEqual({ code: 0, signal: null, stdout: '{"a":1}\n', stderr: '' });
    const piped = await run(['call', 'up__echo', '-', '-c', config], { stdin: '{"b": "ü"}' });
    expect(piped).toMatchObject({ code: 0, stdout: '{"b":"ü"}\n' });
    expect(await run(['call', 'up.echo', '-c', config])).toMatchObject({ code: 0, stdout: '{}\n' });
  });

  it('refuses arguments that are no JSON object before it starts anything', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({ upstreams: { up: up.config } });
    const broken = await run(['call', 'up.echo', '{"a": 1,\n "b": x}', '-c', config]);
    expect(broken).toMatchObject({ code: 2, stdout: '' });
    expect(broken.stderr).toBe(
      'error: the arguments are not valid JSON: line 2, column 7: a value should be here\n',
    );
    expect(await run(['call', 'up.echo', '[1]', '-c', config])).toMatchObject({ code: 2, stdout: '' });
    expect(up.starts).toBe(0);
  });

  it('puts a failure to stderr, and with --json the whole answer to stdout', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['fail', 'rpc-error'] });
    const config = await configFile({ upstreams: { up: up.config } });
    const args = ['-c', config, '--log-level', 'silent'];
    expect(await run(['call', 'up.fail', '{"text": "bad"}', ...args])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'bad\n',
    });
    expect(await run(['call', 'up.rpc-error', ...args])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error -32000: scripted error\n',
    });
    const failed = await run(['call', 'up.fail', '--json', ...args]);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ isError: true, content: [{ text: 'it failed' }] });
    const refused = await run(['call', 'up.rpc-error', '--json', ...args]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: -32000 } });
  });

  it('prints progress to stderr and summarises what is no text', async () => {
    const config = await configFile({ upstreams: { every: EVERYTHING } });
    const work = '{"duration": 0.1, "steps": 2}';
    const long = await run(['call', 'every.trigger-long-running-operation', work, '-c', config]);
    expect(long).toMatchObject({ code: 0, stderr: 'progress 1/2\nprogress 2/2\n' });
    expect(long.stdout).toContain('Long running operation completed.');
    const image = await run(['call', 'every.get-tiny-image', '-c', config]);
    expect(image.stdout).toMatch(/^\[image: image\/png, [\d.]+ KiB\]$/m);
  });

  it('names what may have been meant by an unknown name, and who is missing', async () => {
    await using up = await oneTool('echo');
    const config = await configFile({ upstreams: { gone: ABSENT, up: up.config } });
    const { code, stdout, stderr } = await run(['call', 'echo', '-c', config, '--log-level', 'silent']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error -32602: .*\nDid you mean "up\.echo"\?\ngone is not ready .*\n$/);
  });

  it('cancels the call when it is interrupted, and ends without orphans', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['never'] });
    const config = await configFile({ upstreams: { up: up.config } });
    const { child, ended, mark } = start(['call', 'up.never', '-c', config]);
    await up.untilReceived('tools/call');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 1, signal: null, stdout: '', stderr: 'Interrupted.\n' });
    await up.untilReceived('notifications/cancelled');
    expect(processesMarked(mark)).toEqual([]);
  });
});

describe('usage', () => {
  it.each([
    [['chek'], 'Did you mean check?'],
    [['check', '--jsn'], 'Did you mean --json?'],
    [['check', 'x'], 'too many arguments'],
    [['call'], "missing required argument 'name'"],
    [['tools', '--names', 'fancy'], 'Allowed choices are dotted, strict.'],
    [['check', '-c', 'nowhere.yaml'], 'nowhere.yaml: there is no such file\nName a configuration with --config'],
    [['tools'], 'gateway.yaml: there is no such file'],
  ])('patchbay %j is refused with a hint', async (args, hint) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(hint);
  });

  it('takes the global options before the command too, and from the environment', async () => {
    const config = await configFile({ upstreams: {} });
    expect(await run(['-c', config, 'tools', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
    const env = { PATCHBAY_CONFIG: config };
    expect(await run(['tools'], { env })).toMatchObject({ code: 0, stdout: 'There are no tools.\n' });
    const outside = await run(['check'], { env: { ...env, PATCHBAY_HOST: '0.0.0.0' } });
    expect(outside.code).toBe(2);
    expect(outside.stderr).toContain('listen.host');
    const port = await run(['check'], { env: { ...env, PATCHBAY_PORT: '70000' } });
    expect(port.code).toBe(2);
    expect(port.stderr).toContain('PATCHBAY_PORT');
  });
});
