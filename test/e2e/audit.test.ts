import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newKey } from '../../src/access/keys.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { keepCredential } from '../../src/base/secrets.ts';
import { startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'patchbay-audit-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Every line, each of which has to be whole. */
async function linesOf(file: string): Promise<readonly JsonObject[]> {
  const text = await readFile(file, 'utf8');
  expect(text.endsWith('\n') || text === '').toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as JsonObject);
}

const people = ['alice', 'bob'].map((id) => ({ id, ...newKey() }));
const auth = { mode: 'keys', keys: people.map(({ id, sha256 }) => ({ id, sha256 })) };
const [alice, bob] = people.map(({ key }) => ({ authorization: `Bearer ${key}` }));

test('who was offered what, and who called what with which outcome', async () => {
  const file = join(await folder(), 'logs', 'audit.jsonl');
  await using files = await startHttpUpstream({
    id: 'files',
    tools: ['echo', 'fail'],
    resources: [{ uri: 'doc://a', name: 'a' }],
  });
  const gateway = await startGateway({
    auth,
    access: [
      { who: { ids: ['alice'] }, allow: ['files.*'] },
      { who: { ids: ['bob'] }, allow: ['files.echo'] },
    ],
    audit: { file },
    upstreams: { files: files.config },
  });
  await using hers = await connectLegacy(gateway.url, { headers: { ...alice } });
  await using his = await connectModern(gateway.url, { headers: { ...bob } });
  await hers.untilNames((names) => names.includes('files.fail'));
  await his.untilNames((names) => names.includes('files.echo'));
  await using hersToo = await connectModern(gateway.url, { headers: { ...alice } });
  await hersToo.names();
  await his.names();
  await hers.request('tools/call', { name: 'files.echo', arguments: { text: 'her words' } });
  await hers.request('tools/call', { name: 'files.echo', arguments: { text: 'her words' } });
  await his.request('tools/call', { name: 'files.echo', arguments: { text: 'his words' } });
  await his.request('tools/call', { name: 'files.fail', arguments: {} });
  await his.request('resources/read', { uri: 'doc://user:pw@a/x?token=t' });
  await hersToo.request('tools/call', { name: 'files.echo', arguments: {} });
  await gateway.close();
  const lines = await linesOf(file);
  const calls = lines.filter(({ event }) => event === 'call');
  const lists = lines.filter(({ event, kind }) => event === 'list' && kind === 'tools');
  expect(lists.map(({ principal }) => principal)).toEqual(expect.arrayContaining(['alice', 'bob']));
  const offered = (principal: string) => {
    const offer = lists.findLast((line) => line['principal'] === principal)?.['offer'];
    const found = lines.filter((line) => line['event'] === 'offer' && line['offer'] === offer);
    return found.flatMap(({ items }) => items as JsonObject[]).map(({ name }) => name);
  };
  expect(offered('alice')).toEqual(['files.echo', 'files.fail']);
  expect(offered('bob')).toEqual(['files.echo']);
  const [first, second, third, fourth, fifth, last] = calls;
  expect(first).toMatchObject({
    principal: 'alice',
    entrance: 'default',
    session: expect.any(String),
    method: 'tools/call',
    name: 'files.echo',
    upstream: 'files',
    original: 'echo',
    outcome: 'ok',
    ms: expect.any(Number),
    revision: lists.findLast(({ principal }) => principal === 'alice')?.['revision'],
    argumentsBytes: 20,
  });
  expect(second?.['argumentsDigest']).toBe(first?.['argumentsDigest']);
  expect(third?.['argumentsDigest']).not.toBe(first?.['argumentsDigest']);
  expect(third).toMatchObject({ principal: 'bob', outcome: 'ok' });
  expect(fourth).toMatchObject({
    principal: 'bob',
    name: 'files.fail',
    outcome: 'error',
    code: 'NAME_UNKNOWN',
    flags: ['forbidden'],
  });
  expect(fifth).toMatchObject({ principal: 'bob', name: 'doc://a/x' });
  // Two users of clients of one name: each call came from the list of its own user.
  const given = (principal: string) => lists.findLast((line) => line['principal'] === principal)?.['offer'];
  expect(last).toMatchObject({ principal: 'alice', offer: given('alice') });
  expect(third?.['offer']).toBe(given('bob'));
  expect(given('alice')).not.toBe(given('bob'));
  // Each line names one person at most, and no line holds what was said.
  const text = await readFile(file, 'utf8');
  expect(text).not.toMatch(/words|token=|pw@/);
  expect(text.split('\n').filter((line) => line.includes('alice') && line.includes('bob'))).toEqual([]);
});

test('arguments are told where that is asked for, without the secrets that are known', async () => {
  const file = join(await folder(), 'audit.jsonl');
  onTestFinished(keepCredential('a-credential-of-somebody'));
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  const gateway = await startGateway({
    audit: { file, arguments: 'full', lists: false },
    upstreams: { files: files.config },
  });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  await agent.request('tools/call', {
    name: 'files.echo',
    arguments: { text: 'hello', key: 'a-credential-of-somebody' },
  });
  await gateway.close();
  const lines = await linesOf(file);
  expect(lines.map(({ event }) => event)).toEqual(['call']);
  expect(lines[0]).toMatchObject({ arguments: { text: 'hello', key: '[secret]' } });
});

test('the file is rotated by size, and begun anew where somebody has moved it away', async () => {
  const file = join(await folder(), 'audit.jsonl');
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  const gateway = await startGateway({
    audit: { file, rotateBytes: 2000, keep: 2 },
    upstreams: { files: files.config },
  });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  const call = () => agent.request('tools/call', { name: 'files.echo', arguments: {} });
  const there = (name: string) =>
    readFile(name, 'utf8').then(
      (text) => text.length,
      () => 0,
    );
  for (let at = 0; (await there(`${file}.2`)) === 0 && at < 200; at += 1) {
    await call();
  }
  expect(await there(`${file}.2`)).toBeGreaterThan(2000);
  expect(await there(`${file}.3`)).toBe(0);
  for (const each of [`${file}.1`, `${file}.2`]) {
    expect((await linesOf(each)).length).toBeGreaterThan(1);
  }
  await rename(file, `${file}.moved`);
  gateway.gateway.reopen();
  await agent.request('tools/list', {});
  await gateway.close();
  // What was offered is told in each file: it can be understood alone.
  expect((await linesOf(file)).map(({ event }) => event)).toEqual(['offer', 'list']);
});

test('where nothing can be written the gateway says so, and refuses calls if that is asked for', async () => {
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  const begin = (audit: object) => startGateway({ audit, upstreams: { files: files.config } });
  await expect(begin({ file: '/dev/null/audit.jsonl' })).rejects.toMatchObject({
    problems: [{ path: 'audit.file', message: expect.stringMatching(/E(?:EXIST|NOTDIR)/) }],
  });
  for (const onFailure of ['log', 'refuse']) {
    await using gateway = await begin({ file: '/dev/full', onFailure });
    await using agent = await connectModern(gateway.url);
    await expect
      .poll(() => gateway.logged.filter(({ msg }) => msg === 'the audit log cannot be written').length)
      .toBe(0);
    await agent.request('tools/list', {});
    await expect
      .poll(() => gateway.logged.filter(({ msg }) => msg === 'the audit log cannot be written').length)
      .toBe(1);
    const { result } = await agent.call('files.echo', {});
    expect(result['isError'] === true).toBe(onFailure === 'refuse');
    const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
    expect(metrics).toMatch(/patchbay_audit_lines_total\{result="failed"\} [1-9]/);
  }
});

test('killed while it writes, it leaves whole lines; half of one that a crash left is taken out', async () => {
  const file = join(await folder(), 'audit.jsonl');
  await writeFile(file, '{"event":"call","ms":1}\n{"event":"ca');
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  await using gateway = await startGatewayProcess({ audit: { file }, upstreams: { files: files.config } });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  const answered: Promise<unknown>[] = [];
  for (let at = 0; at < 200; at += 1) {
    answered.push(
      agent.request('tools/call', { name: 'files.echo', arguments: { at } }).catch(() => undefined),
    );
  }
  await Promise.all(answered.slice(0, 60));
  // As logrotate does.
  await rename(file, `${file}.moved`);
  gateway.child.kill('SIGHUP');
  await Promise.all(answered.slice(0, 120));
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).toContain('"event"');
  gateway.child.kill('SIGKILL');
  await expect.poll(() => gateway.ended).toBe(true);
  await Promise.all(answered);
  expect((await linesOf(file)).length).toBeGreaterThan(0);
  const lines = await linesOf(`${file}.moved`);
  expect(lines[0]).toEqual({ event: 'call', ms: 1 });
  expect(lines.filter(({ event }) => event === 'call').length).toBeGreaterThan(50);
  expect(lines.every(({ event }) => typeof event === 'string')).toBe(true);
});
