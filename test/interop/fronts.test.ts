import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { MAIN } from '../kit/program.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type Caller, startCaller } from './caller.ts';
import { proveCancellation, proveContract } from './contract.ts';
import { CLIENTS, type Front, isHere, SERVERS, waysIn } from './peers.ts';
import { type Servers, startServers } from './world.ts';

const installed = inject('interop');
/** A few servers, of both eras, are enough to see what these ways in are like. */
const servers = SERVERS.filter(({ id }) => ['mcp2-http-new', 'go-http-new', 'go-http-old'].includes(id));
const missing = servers.some(({ sdk }) => !isHere(sdk, installed));

const WAYS = CLIENTS.flatMap((client) =>
  waysIn(client)
    .filter((carrier) => carrier !== 'http')
    .map((carrier) => ({ ...client, carrier })),
);

describe.skipIf(missing)('other ways in', () => {
  let running: Servers;
  let gateway: StartedGateway;
  let folder: string;
  let fronts: Record<'sse' | 'stdio', Front>;

  beforeAll(async () => {
    running = await startServers(servers, installed);
    gateway = await startGateway({ legacySse: { enabled: true }, upstreams: running.upstreams });
    await gateway.gateway.settled();
    folder = await mkdtemp(join(tmpdir(), 'interop-fronts-'));
    const file = join(folder, 'gateway.yaml');
    const sealingKey = Buffer.alloc(32, 7).toString('base64');
    // A client that comes at once waits for the lists of servers on a busy machine.
    await writeFile(
      file,
      stringify({ sealingKey, lists: { firstWait: '20s' }, upstreams: running.upstreams }),
    );
    fronts = {
      sse: { carrier: 'sse', url: `${gateway.origin}/sse` },
      stdio: { carrier: 'stdio', command: process.execPath, args: [MAIN, 'stdio', '-c', file] },
    };
  });

  afterAll(async () => {
    await gateway?.close();
    await running?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  describe.each(WAYS)('the client $label over $carrier', ({ carrier, ...client }) => {
    let caller: Caller;

    beforeAll(async () => {
      caller = await startCaller(client, fronts[carrier], installed);
      await caller.listen(servers.filter((row) => row.takesSubscriptions).map((row) => `${row.uris}static`));
      await caller.wantLogs();
    });

    afterAll(async () => {
      await caller?.[Symbol.asyncDispose]();
    });

    it('agrees on the newest version it has', () => {
      expect(caller.version).toBe(client.version);
    });

    describe.each(servers)('with $id', (row) => {
      proveContract(() => caller, row, `${client.sdk}_${client.mode}_${carrier}`);
    });

    for (const row of servers.filter(({ cancels }) => cancels)) {
      proveCancellation(() => caller, row);
    }
  });
});
