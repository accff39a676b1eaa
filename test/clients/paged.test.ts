import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judge, judgeWalks } from './judge.ts';
import { asksForPages, inFrontOf, played } from './recording.ts';
import { replay } from './replay.ts';
import { startWorld, type World } from './world.ts';

describe.each(['modern', 'legacy'] as const)('pages of two, in front of a %s server', (era) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ era, pageSize: 2 });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it.each(inFrontOf(era, played(asksForPages)))('$client walks to the end ($variant)', async ({ steps }) => {
    const turns = await replay(steps, world);
    await world.reset();
    expect([...turns.flatMap(judge), ...judgeWalks(turns)]).toEqual([]);
  });
});
