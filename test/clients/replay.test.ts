import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judge } from './judge.ts';
import { asksForPages, needsUpstream, type Played, played, restarts, type Step, sends } from './recording.ts';
import { replay } from './replay.ts';
import { startWorld, type World } from './world.ts';

const WHOLE = played((steps) => steps.some(needsUpstream) && !asksForPages(steps) && !restarts(steps));

/** What it sent, and then each DELETE once more: an ended session is unknown. */
function endedTwice(steps: readonly Step[]): readonly Step[] {
  const ends = sends(steps).filter(({ expects }) => expects === 'ended');
  return [...steps, ...ends.map((end) => ({ ...end, expects: 'gone' as const }))];
}

describe.each(['modern', 'legacy'] as const)('recorded clients, in front of %s servers', (era) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ era, child: true });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it.each(WHOLE)('$client gets what it needs ($variant)', async ({ steps }) => {
    const turns = await replay(endedTwice(steps), world);
    await world.reset();
    expect(turns.flatMap(judge)).toEqual([]);
  });

  const one = WHOLE.filter(({ client }) => client.startsWith('copilot-cli '));
  const spelled = (spell: (name: string) => string) => async ({ steps }: Played) => {
    const turns = await replay(steps, world, { spell });
    await world.reset();
    expect(turns.flatMap(judge)).toEqual([]);
  };
  it.each(one)(
    '$client may write header names in capitals ($variant)',
    spelled((name) => name.toUpperCase()),
  );
  it.each(one)(
    '$client may write header names as it likes ($variant)',
    spelled((name) => name.replace(/[a-z](?=.?[aeiou])/g, (letter) => letter.toUpperCase())),
  );
});
