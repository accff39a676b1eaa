import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Era } from '../../src/protocol/model.ts';
import { AGENTS } from '../kit/agents.ts';
import { agentCaller, type Caller } from './caller.ts';
import { proveCancellation, proveContract } from './contract.ts';
import { isHere, SERVERS } from './peers.ts';
import { startWorld, type World } from './world.ts';

const installed = inject('interop');
const servers = SERVERS.filter((row) => row.carrier !== 'http' && isHere(row.sdk, installed));

let world: World;

beforeAll(async () => {
  world = await startWorld(servers, installed);
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

it('reaches every server in the era it is configured for', () => {
  const eras = world.gateway.gateway.readiness().upstreams;
  expect(
    Object.fromEntries(Object.entries(eras).map(([id, { state, era }]) => [id, `${state} ${era}`])),
  ).toEqual(Object.fromEntries(servers.map(({ id, era }) => [id, `ready ${era}`])));
});

const callers = {} as Record<Era, Caller>;

beforeAll(async () => {
  const uris = servers.filter((row) => row.takesSubscriptions).map((row) => `${row.uris}static`);
  for (const { era, connect } of AGENTS) {
    callers[era] = await agentCaller(connect, world.gateway.url);
    await callers[era].listen(uris);
    await callers[era].wantLogs();
  }
});

afterAll(async () => {
  await Promise.all(Object.values(callers).map((caller) => caller[Symbol.asyncDispose]()));
});

describe.each(AGENTS)('a $era client', ({ era }) => {
  describe.each(servers)('with $id', (row) => {
    proveContract(() => callers[era], row, era);
  });
});

describe.each(AGENTS)('a $era client that gives up', ({ era }) => {
  for (const row of servers.filter(({ cancels }) => cancels)) {
    proveCancellation(() => callers[era], row);
  }
});
