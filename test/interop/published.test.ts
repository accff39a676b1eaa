import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { objectAt, stringAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { PUBLISHED } from './peers.ts';

const { python } = inject('interop');
const MESSAGE = 'Früher Tee 🍵';

let repository: string;
let gateway: StartedGateway;

async function git(...args: readonly string[]): Promise<void> {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];
  await promisify(execFile)('git', [...who, ...args], { cwd: repository });
}

describe.skipIf(python === undefined)('published servers', () => {
  beforeAll(async () => {
    repository = await mkdtemp(join(tmpdir(), 'interop-git-'));
    await git('init', '--quiet');
    await writeFile(join(repository, 'tea.txt'), 'green\n');
    await git('add', 'tea.txt');
    await git('commit', '--quiet', '--message', MESSAGE);
    await writeFile(join(repository, 'tea.txt'), 'grün\n');
    const commands = { time: ['--local-timezone', 'UTC'], git: ['--repository', repository] };
    const entries = PUBLISHED.map(({ id, sdk, name }) => {
      const args = ['-m', `mcp_server_${name}`, ...commands[name]];
      // `-m` looks in the working folder first, which is one that everybody writes to.
      const env = { PYTHONSAFEPATH: '1' };
      return [id, { command: python?.[sdk], args, env, timeouts: { connect: '60s', probe: '60s' } }];
    });
    gateway = await startGateway({ upstreams: Object.fromEntries(entries) });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await rm(repository, { recursive: true, force: true });
  });

  it.each(PUBLISHED)('$id is spoken to in the $era era', ({ id, era }) => {
    expect(gateway.gateway.readiness().upstreams[id]).toMatchObject({ state: 'ready', era });
  });

  describe.each(AGENTS)('for a $era client', ({ connect }) => {
    it.each(PUBLISHED.filter(({ name }) => name === 'time'))('$id tells the time', async ({ id }) => {
      await using agent = await connect(gateway.url);
      expect(await agent.names()).toEqual(
        expect.arrayContaining([`${id}.get_current_time`, `${id}.convert_time`]),
      );
      const there = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
      const { text } = await agent.call(`${id}.convert_time`, there);
      const target = objectAt(JSON.parse(text), 'target');
      expect(target).toMatchObject({ timezone: 'Asia/Tokyo' });
      expect(stringAt(target, 'datetime')).toContain('T21:00:00');
      const wrong = await agent.call(`${id}.get_current_time`, { timezone: 'Mars/Base' });
      expect(wrong.result).toMatchObject({ isError: true });
      expect(wrong.text).toContain('Mars/Base');
    });

    it.each(PUBLISHED.filter(({ name }) => name === 'git'))('$id reads a repository', async ({ id }) => {
      await using agent = await connect(gateway.url);
      const call = (tool: string, args: object = {}) =>
        agent.call(`${id}.${tool}`, { repo_path: repository, ...args });
      expect((await call('git_log', { max_count: 1 })).text).toContain(MESSAGE);
      expect((await call('git_status')).text).toContain('modified:   tea.txt');
      expect((await call('git_diff_unstaged')).text).toContain('+grün');
      const elsewhere = await call('git_status', { repo_path: tmpdir() });
      expect(elsewhere.result).toMatchObject({ isError: true });
    });
  });
});
