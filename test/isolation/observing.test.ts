import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { METRICS } from '../../src/observe/metric-table.ts';
import { headersOf } from '../e2e/access-world.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { readMetrics } from '../kit/prometheus.ts';
import { foreignIn, type Person, secret, secretsIn } from './secrets.ts';
import { startWorld } from './world.ts';

/** Texts of a client that would be seen at once wherever they got to. */
const hostile = (person: Person, place: string) => `${secret(person, place)}"} 1\n# {evil="${person}`;

test('metrics tell of nobody, and the audit log of each user in lines that are about that user', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-audit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'audit.jsonl');
  const config = { audit: { file, arguments: 'full' }, metrics: { tools: 3 } };
  const world = await startWorld(['team', 'mine', 'reds'], { config });
  for (const [person, connect] of [
    ['alice', connectModern],
    ['bob', connectLegacy],
  ] as const) {
    const clientInfo = { name: hostile(person, 'client'), version: secret(person, 'version') };
    await using agent = await world.as(person, connect, '', { clientInfo });
    await agent.names();
    await agent.names('resources');
    await agent.request('tools/call', {
      name: 'mine.echo',
      arguments: { text: hostile(person, 'argument') },
    });
    await agent.request('tools/call', { name: hostile(person, 'name'), arguments: {} });
    await agent.request('resources/read', { uri: `${secret(person, 'uri')}://x` });
    await agent.request(`method/${person}`, {});
    // There for alice alone; bob is told that there is no such thing, and nobody else of that.
    await agent.request('tools/call', { name: 'team.red_tool', arguments: {} });
    await agent.request('completion/complete', { ref: { type: 'ref/prompt', name: hostile(person, 'ref') } });
  }
  const read = (person: Person) => fetch(`${world.gateway.origin}/metrics`, { headers: headersOf(person) });
  expect((await read('alice')).status).toBe(403);
  const text = await (await read('ops')).text();
  const families = readMetrics(text);
  expect(secretsIn(text).size).toBe(0);
  expect(text).not.toMatch(/evil|alice|bob|method\//);
  const upstreams = ['', 'team', 'mine', 'reds'];
  for (const { labels, name } of families.flatMap(({ samples }) => samples)) {
    expect(upstreams, name).toContain(labels['upstream'] ?? '');
  }
  expect(families.map(({ name }) => name).filter((name) => !Object.hasOwn(METRICS, name))).toEqual([]);
  // The log repeats what clients call themselves: `sweep`, which looks at that too, has nothing to say of these.
  await world[Symbol.asyncDispose]();

  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const parsed = lines.map((line) => JSON.parse(line) as JsonObject);
  expect(new Set(parsed.map(({ event }) => event))).toEqual(new Set(['call', 'list', 'offer']));
  for (const [at, line] of parsed.entries()) {
    const person = line['principal'] as Person | undefined;
    // What is in a list is told once for all who get the same list: names, and whose tools they are.
    expect(person === undefined ? line['event'] : person).toMatch(/^(?:offer|alice|bob)$/);
    expect(person === undefined ? [] : foreignIn(lines[at], person)).toEqual([]);
  }
  const about = (person: Person) => parsed.filter(({ principal }) => principal === person);
  for (const person of ['alice', 'bob'] as const) {
    const said = JSON.stringify(about(person));
    const other = person === 'alice' ? 'bob' : 'alice';
    expect([...secretsIn(said).keys()]).toEqual([person]);
    expect(said).not.toContain(`"${other}"`);
    expect(about(person).find(({ name }) => name === 'mine.echo')).toMatchObject({
      outcome: 'ok',
      upstream: 'mine',
      arguments: { text: hostile(person, 'argument') },
    });
  }
  const red = (person: Person) => about(person).find(({ name }) => name === 'team.red_tool');
  expect(red('bob')).toMatchObject({ code: 'NAME_UNKNOWN', outcome: 'error' });
});
