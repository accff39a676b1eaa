import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { agentCaller, type Caller } from './caller.ts';
import { proveContract } from './contract.ts';
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

describe.each(AGENTS)('a $era client', ({ era, connect }) => {
  let caller: Caller;

  beforeAll(async () => {
    caller = await agentCaller(connect, world.gateway.url);
    await caller.listen(servers.filter((row) => row.takesSubscriptions).map((row) => `${row.uris}static`));
    await caller.wantLogs();
  });

  afterAll(async () => {
    await caller?.[Symbol.asyncDispose]();
  });

  describe.each(servers)('with $id', (row) => {
    proveContract(() => caller, row, era);
  });
});
