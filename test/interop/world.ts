import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { Installed } from './install.ts';
import { type PeerProcess, startPeer } from './peer-process.ts';
import { processId, type ServerRow, serverCommand } from './peers.ts';

/** Servers of other SDKs that run. */
export interface Servers extends AsyncDisposable {
  /** Them all, as the gateway's configuration has them. */
  readonly upstreams: Readonly<Record<string, unknown>>;
}

/** Starts each server process once, however many rows it serves; those over stdio the gateway will start. */
export async function startServers(rows: readonly ServerRow[], installed: Installed): Promise<Servers> {
  const processes = new Map<string, Promise<PeerProcess>>();
  for (const row of rows) {
    if (row.carrier !== 'stdio' && !processes.has(processId(row))) {
      processes.set(processId(row), startPeer(serverCommand(row, installed)));
    }
  }
  const started = await Promise.allSettled(processes.values());
  const end = async () => {
    await Promise.all(
      started.map((each) => each.status === 'fulfilled' && each.value[Symbol.asyncDispose]()),
    );
  };
  try {
    const upstreams: Record<string, unknown> = {};
    for (const row of rows) {
      upstreams[row.id] = await entryOf(row, installed, processes);
    }
    return { upstreams, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Servers of other SDKs, and a gateway in front of them all. */
export interface World extends AsyncDisposable {
  readonly gateway: StartedGateway;
}

/** Resolves when the gateway has read the lists of all servers. `config` is what it is told besides them. */
export async function startWorld(
  rows: readonly ServerRow[],
  installed: Installed,
  config: Readonly<Record<string, unknown>> = {},
): Promise<World> {
  const servers = await startServers(rows, installed);
  const gateway = await startGateway({ ...config, upstreams: servers.upstreams });
  await gateway.gateway.settled();
  return {
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await servers[Symbol.asyncDispose]();
    },
  };
}

async function entryOf(
  row: ServerRow,
  installed: Installed,
  processes: ReadonlyMap<string, Promise<PeerProcess>>,
): Promise<unknown> {
  // Interpreters start slowly where many of them do so at once.
  const common = { ...row.config, timeouts: { connect: '60s', probe: '60s' } };
  if (row.carrier === 'stdio') {
    const { command, args } = serverCommand(row, installed);
    return { ...common, command, args };
  }
  const port = (await processes.get(processId(row)))?.first['port'];
  return { ...common, url: `http://127.0.0.1:${port}/${pathOf(row)}` };
}

function pathOf({ carrier, sdk, era }: ServerRow): string {
  if (carrier === 'sse') {
    return 'sse';
  }
  return sdk === 'go' && era === 'modern' ? 'stateless' : 'mcp';
}
