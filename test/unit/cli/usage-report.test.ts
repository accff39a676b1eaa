import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Usage } from '../../../src/observe/usage.ts';
import { configFile, run } from './run.ts';

const item = (original: string, bytes: number) => ({
  name: `files.${original}`,
  upstream: 'files',
  original,
  bytes,
});
const at = (minute: number) => `2026-11-02T10:${String(minute).padStart(2, '0')}:00.000Z`;
const called = (minute: number, original: string, more: object = {}) => ({
  time: at(minute),
  event: 'call',
  principal: 'alice',
  method: 'tools/call',
  name: `files.${original}`,
  upstream: 'files',
  original,
  outcome: 'ok',
  offer: 'o1',
  ...more,
});

const EARLIER = [
  { time: at(1), event: 'offer', offer: 'o1', kind: 'tools', items: [item('read', 300), item('drop', 900)] },
  { time: at(1), event: 'offer', offer: 'o1', kind: 'tools', items: [item('write', 500)] },
  { time: at(2), event: 'list', principal: 'alice', kind: 'tools', offer: 'o1', count: 3 },
  called(3, 'read'),
];
const LATER = [
  { time: at(10), event: 'list', principal: 'bob', kind: 'tools', offer: 'o1', count: 3 },
  called(11, 'write', { outcome: 'tool_error' }),
  called(12, 'write', { outcome: 'error', code: 'UPSTREAM_TIMEOUT' }),
  called(13, 'write'),
  called(14, 'hidden', { principal: 'bob', outcome: 'error', code: 'NAME_UNKNOWN', flags: ['forbidden'] }),
  {
    ...called(15, 'made-up'),
    upstream: undefined,
    original: undefined,
    outcome: 'error',
    code: 'NAME_UNKNOWN',
  },
];

async function logs(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-usage-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const text = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(folder, 'audit.jsonl.1'), text(EARLIER));
  await writeFile(join(folder, 'audit.jsonl'), `${text(LATER)}Patchbay serves http://127.0.0.1\n`);
  return join(folder, 'audit.jsonl');
}

test('what is offered and never called, called and not offered, and failing most', async () => {
  const file = await logs();
  // The file that the configuration names, and what was rotated out of it.
  await using config = await configFile({ audit: { file }, upstreams: {} });
  const { code, stdout } = await run(['usage', '-c', config.path, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout) as Usage).toEqual({
    from: at(2),
    to: at(15),
    calls: 6,
    lists: 2,
    unread: 1,
    upstreams: [{ upstream: 'files', offered: 3, called: 3, calls: 5, failures: 3 }],
    neverCalled: [{ upstream: 'files', original: 'drop', kind: 'tools', bytes: 900, offeredTo: 2 }],
    notOffered: [
      { name: 'files.hidden', upstream: 'files', calls: 1, by: 1, outcomes: { NAME_UNKNOWN: 1 } },
      { name: 'files.made-up', upstream: null, calls: 1, by: 1, outcomes: { NAME_UNKNOWN: 1 } },
    ],
    failing: [
      {
        ...{ upstream: 'files', original: 'write', kind: 'tools', calls: 3, failures: 2, lastCall: at(13) },
        outcomes: { tool_error: 1, UPSTREAM_TIMEOUT: 1 },
      },
      {
        ...{ upstream: 'files', original: 'hidden', kind: 'tools', calls: 1, failures: 1, lastCall: at(14) },
        outcomes: { NAME_UNKNOWN: 1 },
      },
    ],
  });
});

test('a part of the time, as text for people; nothing to read is said', async () => {
  const file = await logs();
  const { code, stdout } = await run(['usage', `${file}.1`, file, '--since', at(10), '--top', '1']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^2026-11-02T10:10:00.000Z to 2026-11-02T10:15:00.000Z: 5 calls, 1 list \(1 line /);
  // Called before, and not since.
  expect(stdout).toMatch(/Offered, but never called, the first 1 of 2\n.*\n {2}files\.drop/);
  expect(stdout).toContain('Called, but not offered, the first 1 of 2');
  expect(stdout).toMatch(/files\.write +tools +2 +3 +/);
  expect(await run(['usage', '/nowhere/audit.jsonl'])).toMatchObject({
    code: 1,
    stderr: 'error: /nowhere/audit.jsonl cannot be read (ENOENT)\n',
  });
  expect(await run(['usage', file, '--since', 'yesterday'])).toMatchObject({ code: 2 });
  await using config = await configFile({ upstreams: {} });
  expect((await run(['usage', '-c', config.path])).stderr).toContain('audit.file');
});
