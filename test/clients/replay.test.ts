import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
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
  const spelled =
    (spell: (name: string) => string) =>
    async ({ steps }: Played) => {
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

  it.each(AGENTS)(
    '?names=strict gives a $era client names that every model API takes',
    async ({ connect }) => {
      await using agent = await connect(`${world.gateway.url}?names=strict`);
      const names = await agent.names();
      expect(names).toHaveLength(world.listing['tools/list']?.length ?? 0);
      expect(names.filter((name) => !/^[A-Za-z0-9_-]{1,52}$/.test(name))).toEqual([]);
      const [echo = '', ...others] = names.filter((name) => name.startsWith('demo'));
      expect(others).toEqual([]);
      for (const name of [echo, 'demo.echo']) {
        expect(await agent.call(name, { text: 'hi' })).toMatchObject({ structured: { text: 'hi' } });
      }
    },
  );
});
