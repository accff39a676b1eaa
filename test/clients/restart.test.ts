import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judge } from './judge.ts';
import { inFrontOf, played, restarts } from './recording.ts';
import { replay } from './replay.ts';
import { startWorld, type World } from './world.ts';

describe.each(['modern', 'legacy'] as const)('a restart of the gateway, in front of %s servers', (era) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ era });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  // The recorded server had forgotten every session, and most clients never came back from that. Here the same
  // requests, old session id and all, go on as if nothing had been.
  it.each(inFrontOf(era, played(restarts)))('is no loss for $client ($variant)', async ({ steps }) => {
    const turns = await replay(steps, world);
    await world.reset();
    expect(turns.flatMap(judge)).toEqual([]);
  });
});
