import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { everythingStdio } from '../kit/real-servers.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const INSPECTOR = fileURLToPath(new URL('../../node_modules/.bin/mcp-inspector', import.meta.url));

let home: string;
let notes: ScriptedUpstream;
let gateway: StartedGateway;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'inspector-'));
  notes = await startHttpUpstream({ id: 'notes', tools: ['whoami'] });
  gateway = await startGateway({ upstreams: { notes: notes.config, every: everythingStdio() } });
  await gateway.gateway.settled();
});

afterAll(async () => {
  await gateway?.close();
  await notes?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** The result of one command of the Inspector against the gateway; rejects where the command fails. */
async function inspect(era: readonly string[], ...args: readonly string[]): Promise<JsonObject> {
  const command = [
    INSPECTOR,
    '--cli',
    gateway.url,
    '--transport',
    'http',
    '--format',
    'json',
    ...era,
    ...args,
  ];
  // It keeps a catalog of servers in the home folder of whoever runs it.
  const env = { PATH: process.env['PATH'], ...compileCache, HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, command, { env, cwd: home });
  return objectAt(JSON.parse(stdout), 'result') ?? {};
}

describe.each([
  { name: 'as it comes', era: [], sessions: 1 },
  { name: 'in the modern era', era: ['--protocol-era', 'modern'], sessions: 0 },
])('the command line of the Inspector, $name,', ({ era, sessions }) => {
  const opened = () => gateway.logged.filter((line) => line['msg'] === 'session opened').length;

  it('lists the tools of every server behind the gateway', async () => {
    const before = opened();
    const { tools } = (await inspect(era, '--method', 'tools/list')) as { tools: readonly JsonObject[] };
    const names = tools.map((tool) => tool['name']);
    expect(names).toEqual(expect.arrayContaining(['notes.whoami', 'every.echo', 'every.get-tiny-image']));
    expect(opened() - before).toBe(sessions);
  });

  it('calls a tool', async () => {
    const call = ['--method', 'tools/call', '--tool-name', 'every.echo', '--tool-arg', 'message=hi é'];
    expect(await inspect(era, ...call)).toMatchObject({ content: [{ type: 'text', text: 'Echo: hi é' }] });
  });
});
