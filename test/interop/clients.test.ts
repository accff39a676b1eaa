import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eraOf } from '../../src/protocol/versions.ts';
import { type Caller, startCaller } from './caller.ts';
import { proveCancellation, proveContract } from './contract.ts';
import { CLIENTS, isHere, SERVERS } from './peers.ts';
import { startWorld, type World } from './world.ts';

const installed = inject('interop');
const servers = SERVERS.filter((row) => row.carrier === 'http' && isHere(row.sdk, installed));

let world: World;

beforeAll(async () => {
  world = await startWorld(servers, installed);
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe.each(CLIENTS)('the client $label', (client) => {
  describe.skipIf(!isHere(client.sdk, installed))('in front of the gateway', () => {
    let caller: Caller;
    let growths = 0;

    beforeAll(async () => {
      caller = await startCaller(client, { carrier: 'http', url: world.gateway.url }, installed);
      await caller.listen(servers.filter((row) => row.takesSubscriptions).map((row) => `${row.uris}static`));
      await caller.wantLogs();
    });

    afterAll(async () => {
      await caller?.[Symbol.asyncDispose]();
    });

    it('agrees on the newest version it has', () => {
      expect(caller.version).toBe(client.version);
      expect(caller.instructions).toContain('The common server, ');
    });

    describe.each(servers)('with $id', (row) => {
      proveContract(() => caller, row, `${client.sdk}_${client.mode}`);
    });

    for (const row of servers.filter(({ cancels }) => cancels)) {
      proveCancellation(() => caller, row);
    }

    it('goes on after a restart of the gateway', async () => {
      await world.gateway.restart();
      for (const row of servers) {
        const { result } = await caller.call(`${row.id}.greet`, { name: 'Ada' });
        expect(result).toMatchObject({ structuredContent: { greeting: 'Hello, Ada!' } });
      }
    });

    const grows = servers.find(({ tellsOfTools }) => tellsOfTools);
    if (client.listensAgain && grows) {
      it('hears of changes again after that', async () => {
        if (eraOf(caller.version) === 'modern') {
          await caller.listen([]);
        }
        const heard = () => caller.heard.count('notifications/tools/list_changed');
        const before = heard();
        // Others come back by themselves, after a while: what changes meanwhile they do not hear of.
        await expect
          .poll(async () => {
            growths += 1;
            const name = `after_restart_${growths}_for_${client.sdk}_${client.mode}`;
            await caller.call(`${grows.id}.grow`, { name });
            return heard();
          })
          .toBeGreaterThan(before);
      });
    }
  });
});
