import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { MAIN } from '../kit/program.ts';
import { createWaits, PATIENCE } from '../kit/waits.ts';

let folder: string;
let web: ScriptedHttp;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-reload-'));
  web = await startHttpUpstream({ id: 'web', era: 'modern', tools: ['get', 'put'] });
});

afterAll(async () => {
  await web?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** `serve` in a process of its own; every line that it prints is JSON. */
function serve(file: string, ...options: readonly string[]) {
  const lines: JsonObject[] = [];
  const waits = createWaits();
  const child = spawn(process.execPath, [MAIN, 'serve', '-c', file, '--port', '0', '--json', ...options], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...compileCache, XDG_STATE_HOME: join(folder, 'state') },
  });
  let rest = '';
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line) as JsonObject));
    waits.check();
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
    waits.check();
  });
  const ended = once(child, 'close');
  const until = (at: number) =>
    waits.until(
      () => lines[at],
      () => `line ${at} never came: ${JSON.stringify(lines)}\n${log}`,
      PATIENCE,
    );
  return {
    child,
    lines,
    log: () => log,
    /** What it printed first. */
    url: async () => String((await until(0))['url']),
    /** What came of reload number `n`, from 1. */
    reload: async (n: number) => objectAt(await until(n), 'reload') ?? {},
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const names = async (url: string) => {
  await using agent = await connectModern(url);
  return await agent.names();
};

it('C-084: a file that changes is read again, however it was changed; one that is wrong changes nothing and is told', async () => {
  const place = join(folder, 'watched');
  await mkdir(join(place, 'v1'), { recursive: true });
  // As Kubernetes mounts secrets: a link to a folder that is replaced whole.
  await writeFile(join(place, 'v1', 'token'), 'first-secret-value\n');
  await symlink('v1', join(place, '..data'));
  await symlink('..data/token', join(place, 'token'));
  const file = join(place, 'gateway.yaml');
  const config = (tools: JsonObject) =>
    stringify({
      upstreams: { web: { ...web.config, headers: { 'X-Token': `\${file:token}` }, tools } },
    });
  await writeFile(file, config({}));
  await using gateway = serve(file, '--log-level', 'debug');
  const url = await gateway.url();
  const ready = async () => {
    const answer = await fetch(url.replace('/mcp', '/readyz'));
    return { status: answer.status, body: (await answer.json()) as JsonObject };
  };
  expect(await names(url)).toEqual(['web.get', 'web.put']);

  await writeFile(file, config({ rename: { get: 'fetch' } }));
  expect(await gateway.reload(1)).toMatchObject({ ok: true, upstreams: { changed: ['web'], restarted: [] } });
  expect(await names(url)).toEqual(['web.fetch', 'web.put']);

  // As editors do it, with words that mean nothing in between: those are read, and nothing is told.
  await writeFile(`${file}~`, `# a comment\n${config({ deny: ['put'] })}`);
  await rename(`${file}~`, file);
  expect(await gateway.reload(2)).toMatchObject({ ok: true, upstreams: { changed: ['web'] } });
  expect(await names(url)).toEqual(['web.get']);

  await writeFile(file, `${config({})}nmae: x\n`);
  expect(await gateway.reload(3)).toMatchObject({ ok: false, problems: [{ path: 'nmae', nearest: 'name' }] });
  const failed = await ready();
  expect(failed.status).toBe(200);
  expect(failed.body).toMatchObject({ config: { status: 'failed', problems: [{ path: 'nmae' }] } });
  expect(await names(url)).toEqual(['web.get']);
  expect(gateway.log()).toMatch(/the new configuration is not valid: the old one keeps serving/);

  await writeFile(file, '');
  expect(await gateway.reload(4)).toMatchObject({ ok: false, problems: [{ message: 'the file is empty' }] });
  expect(await names(url)).toEqual(['web.get']);

  await writeFile(file, config({}));
  expect(await gateway.reload(5)).toMatchObject({ ok: true });
  expect((await ready()).body).toMatchObject({ config: { status: 'ok' } });

  await mkdir(join(place, 'v2'));
  await writeFile(join(place, 'v2', 'token'), 'second-secret-value\n');
  await symlink('v2', join(place, '..data~'));
  await rename(join(place, '..data~'), join(place, '..data'));
  expect(await gateway.reload(6)).toMatchObject({ ok: true, upstreams: { restarted: ['web'] } });
  await web.untilReceived('*', (entry) => JSON.stringify(entry).includes('second-secret-value'));
  expect(await names(url)).toEqual(['web.get', 'web.put']);
  expect(gateway.log()).not.toMatch(/first-secret-value|second-secret-value/);
  expect(JSON.stringify(gateway.lines)).not.toMatch(/first-secret-value|second-secret-value/);
});

it('SIGHUP while it starts ends nothing: it is read again once all is there', async () => {
  const file = join(folder, 'starting.yaml');
  execFileSync('sh', ['-c', 'mkfifo "$0"', file]);
  await using gateway = serve(file, '--no-watch');
  // Opened by now for reading: the process has begun, and waits for its configuration.
  const pipe = await open(file, 'w');
  gateway.child.kill('SIGHUP');
  await writeFile(`${file}.next`, 'lists: {pageSize: 7}\n');
  await rename(`${file}.next`, file);
  await pipe.writeFile('lists: {pageSize: 5}\n');
  await pipe.close();
  await gateway.url();
  expect(await gateway.reload(1)).toMatchObject({ ok: true, changed: ['lists.pageSize'] });
});

it('SIGHUP reads it again, and where nobody watches nothing else does', async () => {
  const file = join(folder, 'unwatched.yaml');
  const config = (upstreams: JsonObject) => stringify({ upstreams });
  await writeFile(file, config({ web: web.config }));
  await using gateway = serve(file, '--no-watch');
  const url = await gateway.url();
  const write = async (text: string) => {
    await writeFile(`${file}~`, text);
    await rename(`${file}~`, file);
  };
  await write('upstreams: [');
  await write(config({ two: web.config }));
  gateway.child.kill('SIGHUP');
  expect(await gateway.reload(1)).toMatchObject({
    ok: true,
    upstreams: { added: ['two'], removed: ['web'] },
  });
  await expect.poll(() => names(url), { timeout: PATIENCE }).toEqual(['two.get', 'two.put']);
  for (let times = 0; times < 5; times += 1) {
    gateway.child.kill('SIGHUP');
  }
  await write(config({ three: web.config }));
  gateway.child.kill('SIGHUP');
  await expect.poll(() => names(url), { timeout: PATIENCE }).toEqual(['three.get', 'three.put']);
  const reloads = gateway.lines.slice(1).map((line) => objectAt(line, 'reload'));
  expect(reloads.every((reload) => reload?.['ok'] === true)).toBe(true);
  expect(reloads.length).toBeLessThanOrEqual(7);
  expect(gateway.child.exitCode).toBeNull();
});
