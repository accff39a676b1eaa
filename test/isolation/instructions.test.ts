import { describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { foreignIn, secret } from './secrets.ts';
import { startWorld } from './world.ts';

const OWN = ['mine', 'old'] as const;

describe.each(AGENTS)('what a server says of itself to one user', ({ connect, era }) => {
  it('is told to that user when they come again, and to nobody else at any time', async () => {
    await using world = await startWorld(OWN);
    for (const id of OWN) {
      for (const user of ['alice', 'bob'] as const) {
        await world.server(id, user).change({
          instructions: secret(user, `${id} instructions`),
          capabilities: {
            experimental: { x: { about: secret(user, `${id} experimental`) } },
            extensions: { [`com.example/${id}`]: { about: secret(user, `${id} extension`) } },
          },
        });
      }
    }
    await using alice = await world.as('alice', connect);
    await alice.names();
    await using bob = await world.as('bob', connect);
    expect(foreignIn(bob.hello, 'bob')).toEqual([]);
    await bob.names();
    for (const user of ['alice', 'bob', 'amy'] as const) {
      await using again = await world.as(user, connect);
      expect(foreignIn(again.hello, user)).toEqual([]);
      const told = JSON.stringify(again.hello);
      for (const id of OWN) {
        expect(told.includes(secret(user, `${id} instructions`))).toBe(user !== 'amy');
      }
      // A client of the older era knows no extensions, and a server of that era has none.
      const known = user !== 'amy' && era === 'modern';
      expect(told.includes(secret(user, 'mine extension'))).toBe(known);
    }
    world.sweep();
  });
});
