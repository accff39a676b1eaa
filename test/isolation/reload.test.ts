import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authFor } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { PEOPLE, secret, secretsIn } from './secrets.ts';
import { RULES, startWorld, type World } from './world.ts';

const ERAS = [connectLegacy, connectModern] as const;

let world: World;
const agents: Agent[] = [];

beforeAll(async () => {
  world = await startWorld(['team', 'mine', 'box'], { config: { shutdown: { grace: '5s' } } });
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  await world?.[Symbol.asyncDispose]();
});

async function clientsOf(person: 'alice' | 'bob'): Promise<readonly Agent[]> {
  const mine = await Promise.all(ERAS.map((connect) => world.as(person, connect)));
  agents.push(...mine);
  return mine;
}

/** Runs `work` again and again until the returned function is called; that rejects with what `work` did. */
function load(work: () => Promise<unknown>): () => Promise<void> {
  let over = false;
  const run = async () => {
    while (!over) {
      await work();
    }
  };
  const running = run();
  // It is awaited at the end.
  running.catch(() => undefined);
  return () => {
    over = true;
    return running;
  };
}

/** Everything of the team that somebody of this group may use. */
async function use(agent: Agent, group: 'red' | 'blue'): Promise<string> {
  const answers = await Promise.all([
    agent.request('tools/list'),
    agent.request('tools/call', { name: `team.${group}_tool`, arguments: {} }),
    agent.request('prompts/get', { name: `team.${group}_brief` }),
    agent.request('resources/read', { uri: `team://${group}` }),
  ]);
  return JSON.stringify(answers.map(({ messages }) => messages));
}

describe('while the configuration changes under load', () => {
  it('users who exchange their rights are never answered by those of the other', async () => {
    const [alice, bob] = [await clientsOf('alice'), await clientsOf('bob')];
    let phase = 0;
    const groups = ['red', 'blue'] as const;
    /** Whose rights whoever stands at this place has in a phase. */
    const groupOf = (place: 0 | 1, at: number) => groups[(place + at) % 2 === 0 ? 0 : 1];
    const seen = new Set<string>();
    const work = (agent: Agent, place: 0 | 1) => async () => {
      for (const group of groups) {
        const begun = phase;
        const used = secretsIn(await use(agent, group));
        const found = [...used.keys()].filter((owner) => owner === 'red' || owner === 'blue');
        // What began under one configuration and ended under another may be answered by either.
        const may: readonly string[] = begun === phase ? [groupOf(place, phase)] : groups;
        expect(found.filter((owner) => !may.includes(owner))).toEqual([]);
        for (const owner of found) {
          seen.add(`${place} ${owner}`);
        }
      }
    };
    const loads = [
      ...alice.map((agent) => load(work(agent, 0))),
      ...bob.map((agent) => load(work(agent, 1))),
    ];
    for (let round = 1; round <= 12; round += 1) {
      const people = {
        alice: { groups: [groupOf(0, round)] },
        bob: { groups: [groupOf(1, round)] },
        amy: PEOPLE.amy,
      };
      world.reload({ auth: authFor(people) });
      phase = round;
      // At once, and not some time later.
      const [first = ''] = await Promise.all([use(alice[round % 2]!, 'blue'), use(bob[round % 2]!, 'red')]);
      expect(first.includes(secret('blue', 'team call'))).toBe(groupOf(0, round) === 'blue');
    }
    await Promise.all(loads.map((stop) => stop()));
    expect([...seen].toSorted()).toEqual(['0 blue', '0 red', '1 blue', '1 red']);
    world.reload({});
  });

  it('servers that know who asks, started anew all the time, give each user their own, and only that', async () => {
    const [alice, bob] = [await clientsOf('alice'), await clientsOf('bob')];
    let served = 0;
    const work = (agent: Agent) => async () => {
      const answers = await Promise.all([
        agent.request('tools/list'),
        agent.request('tools/call', { name: 'mine.note', arguments: {} }),
        agent.request('resources/read', { uri: 'mine://same' }),
        agent.request('tools/call', { name: 'box.echo', arguments: { text: 'x' } }),
      ]);
      served += answers.filter(
        ({ error, result }) => error === undefined && result?.['isError'] !== true,
      ).length;
    };
    const loads = [...alice, ...bob].map((agent) => load(work(agent)));
    const before = world.server('mine', 'alice').received.length;
    for (let round = 0; round < 8; round += 1) {
      const denied = round % 2 === 0 ? 'red' : 'blue';
      const access = RULES.map((rule) =>
        JSON.stringify(rule.who).includes(denied) ? { ...rule, allow: ['team.both'] } : rule,
      );
      world.reload({
        access,
        upstreams: {
          mine: { timeouts: { call: `${30 + round}s` } },
          box: { cache: { ttl: `${5 + round}m` } },
        },
      });
      const [red, blue] = await Promise.all([use(alice[0]!, 'red'), use(bob[0]!, 'blue')]);
      const team = [...secretsIn(`${red}${blue}`)].filter(([owner]) => owner === 'red' || owner === 'blue');
      expect(team.map(([owner]) => owner)).toEqual([denied === 'red' ? 'blue' : 'red']);
    }
    await Promise.all(loads.map((stop) => stop()));
    await world.gateway.gateway.replaced();
    world.reload({});
    await world.gateway.gateway.replaced();
    expect(served).toBeGreaterThan(20);
    expect(world.server('mine', 'alice').received.length).toBeGreaterThan(before);
    const [own] = await Promise.all(alice.map((agent) => agent.call('mine.note')));
    expect(own?.text).toBe(secret('alice', 'mine call'));
  });
});
