import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../kit/http-exchange.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { judge } from './judge.ts';
import { needsUpstream, type Played, played, type Step } from './recording.ts';
import { replay, type Stage } from './replay.ts';

/** Everything up to the first request that the servers behind must answer. */
function opening(steps: readonly Step[]): readonly Step[] {
  const end = steps.findIndex(
    (step) => needsUpstream(step) || step.kind === 'grow' || step.kind === 'restart',
  );
  return end < 0 ? steps : steps.slice(0, end);
}

/** Each client's different ways to begin: by era, by fallback, by looking for a sign-in. */
function openings(): readonly Played[] {
  const known = new Set<string>();
  return played(() => true)
    .map((each) => ({ ...each, steps: opening(each.steps) }))
    .filter(({ client, steps }) => {
      const text = JSON.stringify([client, steps]);
      const fresh = !known.has(text) && steps.length > 0;
      known.add(text);
      return fresh;
    });
}

// The one server behind holds every answer back, so nothing that waits for it is ever answered: some clients give an
// opening one second before they fall back to the old era for good.
describe('in front of a server that does not answer', () => {
  let silent: ScriptedHttp;
  let gateway: StartedGateway;
  let stage: Stage;
  beforeAll(async () => {
    silent = await startHttpUpstream(
      { faults: [{ on: '*', do: { hold: 'for ever' } }] },
      { timeouts: { connect: '10m', probe: '10m' } },
    );
    gateway = await startGateway({ upstreams: { silent: silent.config } });
    const never = () => Promise.reject(new Error('openings end before that'));
    stage = { origin: gateway.origin, listing: {}, grow: never, restart: never };
  });
  afterAll(async () => {
    await gateway.close();
    await silent[Symbol.asyncDispose]();
  });

  it.each(openings())('$client opens ($variant)', async ({ steps }) => {
    const turns = await replay(steps, stage);
    expect(turns.flatMap(judge)).toEqual([]);
  });

  it.each([
    ['OPTIONS', 204],
    ['HEAD', 405],
    ['PUT', 405],
    ['DELETE', 405],
  ])('%s without a session is answered %i, and with what is allowed', async (method, status) => {
    const agent = new Agent();
    const answer = await exchange(new URL(gateway.url), { method, headers: {}, agent }).done;
    expect(answer).toMatchObject({ status, headers: { allow: expect.stringContaining('POST') } });
    agent.destroy();
  });
});
