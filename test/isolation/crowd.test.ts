import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectAt } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import type { ScriptedHttp } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import type { ScriptedStdio } from '../kit/stdio-upstream.ts';
import { foreignIn, secret } from './secrets.ts';
import { ABLE, startWorld, type User, type World } from './world.ts';

const USERS = ['alice', 'amy', 'bob'] as const;
const OWN = ['mine', 'old'] as const;
/** Of each user, every other one of the older era. */
const CLIENTS_EACH = 7;
const ANSWER = { action: 'accept', content: {} };

interface Client {
  readonly user: User;
  readonly agent: Agent;
  readonly n: number;
}

let world: World;
let crowd: readonly Client[];

beforeAll(async () => {
  world = await startWorld(['team', 'mine', 'old', 'box', 'sess'], {
    config: { questions: { perPrincipal: 1_000 } },
  });
  const order = Array.from({ length: CLIENTS_EACH }, () => USERS).flat();
  crowd = await Promise.all(
    order.map(async (user, n) => {
      const answers = { 'elicitation/create': () => ({ ...ANSWER, content: { name: `${user} ${n}` } }) };
      const options = { ...ABLE, answers, logLevel: 'info' };
      return {
        user,
        n,
        agent: await world.as(user, n % 2 === 1 ? connectModern : connectLegacy, '', options),
      };
    }),
  );
});

afterAll(async () => {
  await Promise.all((crowd ?? []).map(({ agent }) => agent[Symbol.asyncDispose]()));
  await world?.[Symbol.asyncDispose]();
});

/** The same ids and the same progress token from everybody. */
const SAME = { id: 1, progressToken: 'p' };

/** Calls at servers that know who asks, all at once, and what came of them. */
async function calls({ agent, user }: Client): Promise<void> {
  const all = OWN.map(
    (id) => [agent.call(`${id}.note`, {}, SAME), agent.call(`${id}.progress`, {}, SAME)] as const,
  );
  for (const [at, id] of OWN.entries()) {
    const [note, progress] = await Promise.all(all[at] ?? []);
    expect(note?.text).toBe(secret(user, `${id} call`));
    expect(
      progress?.progress.map((each) => [each['progressToken'], each['progress'], each['message']]),
    ).toEqual([1, 2, 3].map((step) => ['p', step, secret(user, `${id} progress`)]));
    expect(progress?.answer.messages).toHaveLength(4);
  }
}

/** Reads, lists and log messages of the same servers. */
async function looks({ agent, user }: Client): Promise<void> {
  if (agent.era === 'legacy') {
    await agent.result('logging/setLevel', { level: 'info' });
  }
  const all = OWN.map(
    (id) =>
      [
        agent.call(`${id}.log`, {}, SAME),
        agent.result('resources/read', { uri: `${id}://same` }, { id: 1 }),
        agent.result('tools/list', {}, { id: 1 }),
      ] as const,
  );
  for (const [at, id] of OWN.entries()) {
    const [log, read, list] = await Promise.all(all[at] ?? []);
    expect(log?.logs.map(({ data }) => data)).toEqual([secret(user, `${id} log`)]);
    expect(JSON.stringify(read)).toContain(secret(user, `${id} read`));
    expect(JSON.stringify(list)).toContain(`${id}.note_of_${user}`);
    expect(foreignIn([read, list], user)).toEqual([]);
  }
}

/** Questions of servers that do not know who asks. */
async function questions({ agent, user }: Client): Promise<void> {
  const { structured } = await agent.call('box.ask', {}, SAME);
  // Over stdio nothing says which of the calls of this user the question belongs to.
  const name = expect.stringMatching(new RegExp(`^${user} `));
  expect(structured).toEqual({ answers: [{ result: { ...ANSWER, content: { name } } }] });
}

/** What one says to them comes back. */
async function echoes({ agent, user, n }: Client): Promise<void> {
  const words = secret(user, `echo of ${n}`);
  const told = await Promise.all(['box', 'sess'].map((id) => agent.call(`${id}.echo`, { words }, SAME)));
  expect(told.map(({ structured }) => structured)).toEqual([{ words }, { words }]);
}

/** All of them at once; none is left running when one has failed. */
async function everybody(act: (client: Client) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(crowd.map(act));
  expect(outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))).toEqual([]);
}

/** A call of each at the servers that know who asks. */
async function notes({ agent, user }: Client): Promise<void> {
  const told = await Promise.all(OWN.map((id) => agent.call(`${id}.note`, {}, SAME)));
  expect(told.map(({ text }) => text)).toEqual(OWN.map((id) => secret(user, `${id} call`)));
}

/** One call of each client, held at its server under a label, and what came of it when `meanwhile` is over. */
async function during(id: 'mine' | 'box', label: string, meanwhile: () => Promise<void>) {
  const held = crowd.map(({ agent, n }) => {
    const call = { name: `${id}.slow`, arguments: { label, tag: n } };
    return { n, running: agent.begin('tools/call', call, { id: 1 }) };
  });
  const isHeld = ({ params }: Recorded) => objectAt(params, 'arguments')?.['label'] === label;
  const servers = new Set(USERS.map((user) => world.server(id, user)));
  const times = crowd.length / servers.size;
  await Promise.all([...servers].map((server) => server.untilReceived('tools/call', isHeld, { times })));
  await meanwhile();
  return Promise.all(held.map(async ({ n, running }) => ({ n, answer: await running.done })));
}

describe(`${CLIENTS_EACH * USERS.length} clients of three users at once, with the same ids and progress tokens,`, () => {
  it.each([
    { what: 'calls and their progress', act: calls },
    { what: 'reads, lists and log messages', act: looks },
    { what: 'questions', act: questions },
    { what: 'echoes', act: echoes },
  ])('get what is theirs: $what', async ({ act }) => {
    await everybody(act);
  });

  it('get what is theirs when they are answered in any order', async () => {
    const answers = await during('mine', 'order', async () => {
      for (const user of ['bob', 'alice', 'amy'] as const) {
        expect(await world.server('mine', user).release('order')).toBe(CLIENTS_EACH);
      }
    });
    for (const { n, answer } of answers) {
      expect(answer.result).toMatchObject({ structuredContent: { done: n } });
      expect(answer.messages).toHaveLength(1);
    }
  });

  it('get what is theirs after a restart of the gateway under their calls', async () => {
    const answers = await during('mine', 'gateway', () => world.gateway.restart());
    for (const { n, answer } of answers) {
      expect([n, objectAt(answer.result, 'structuredContent')]).toEqual([n, undefined]);
    }
    await world.gateway.gateway.settled();
    await everybody(notes);
  });

  it('get what is theirs after a restart of the servers under their calls', async () => {
    const answers = await during('box', 'servers', async () => {
      for (const id of OWN) {
        for (const user of USERS) {
          await (world.server(id, user) as ScriptedHttp).restart();
        }
      }
      await (world.server('box') as ScriptedStdio).kill();
    });
    for (const { answer } of answers) {
      expect(answer.result).toMatchObject({ isError: true });
    }
    // Until one of each user and era is served again.
    const some = crowd.slice(0, 2 * USERS.length);
    await expect
      .poll(async () => {
        const asked = some.flatMap(({ agent }) => [...OWN, 'box'].map((id) => agent.call(`${id}.echo`)));
        return (await Promise.all(asked)).some(({ result }) => result['isError'] === true);
      })
      .toBe(false);
    await everybody(notes);
  });
});

it('nobody has ever received anything of somebody else', () => {
  const found = world.sweep();
  const places = OWN.flatMap((id) =>
    ['tool', 'call', 'progress', 'log', 'read'].map((place) => `${id} ${place}`),
  );
  for (const [at, user] of USERS.entries()) {
    expect(found[user]).toEqual(expect.arrayContaining([...places, `echo of ${at}`]));
  }
});
