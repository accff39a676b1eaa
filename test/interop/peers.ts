import { fileURLToPath } from 'node:url';
import type { Era } from '../../src/protocol/model.ts';
import type { Installed } from './install.ts';

/** Every SDK that has a peer here. */
export type Sdk = 'mcp1' | 'mcp2' | 'fastmcp' | 'go';
export type Carrier = 'stdio' | 'http' | 'sse';

/** One process that runs the common server. */
export interface ServerProcess {
  readonly sdk: Sdk;
  readonly carrier: Carrier;
}

/** One entry of the gateway's configuration: a server process, and how it is spoken to. */
export interface ServerRow extends ServerProcess {
  /** Id in the configuration, hence the prefix of its names. */
  readonly id: string;
  /** Era that the gateway reaches it in. */
  readonly era: Era;
  /** What the configuration says besides where it is. */
  readonly config: { readonly protocol?: string; readonly isolation?: 'session' };
  /** What its resources begin with, as clients see them. */
  readonly uris: string;
  /** Whether it can ask clients: a server of the old era only on a connection of their own. */
  readonly asks: boolean;
  /** Stops a call that is given up. */
  readonly cancels: boolean;
  /** Tells of a tool that was added while it ran. */
  readonly tellsOfTools: boolean;
  /** Takes subscriptions to a resource. */
  readonly takesSubscriptions: boolean;
}

/** A client program in one of its ways to connect. */
export interface ClientRow {
  readonly label: string;
  readonly sdk: Sdk;
  /** What its program is told besides the URL. */
  readonly mode: string;
  /** What it agrees on with the gateway. */
  readonly version: string;
  /** Hears of changes again after its stream broke, by itself or when it is told to listen once more. */
  readonly listensAgain: boolean;
}

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';

const PROCESSES: readonly ServerProcess[] = (['http', 'stdio', 'sse'] as const).flatMap((carrier) =>
  (['mcp2', 'mcp1', 'fastmcp', 'go'] as const).map((sdk) => ({ sdk, carrier })),
);

/** Id that a server process gives itself, the authority of its URIs. */
export const processId = ({ sdk, carrier }: ServerProcess): string => `${sdk}-${carrier}`;

type Way = Pick<ServerRow, 'era' | 'config'> & { readonly suffix: string };

/** How one process is spoken to: as it comes, in its old era, and in the era of the client. */
function waysOf({ sdk, carrier }: ServerProcess): readonly Way[] {
  const both = sdk !== 'mcp1' && carrier !== 'sse';
  // Left to find out by itself, but for a server of both eras that is to be old.
  const old = both ? { protocol: LEGACY } : {};
  const isolated: Way = { suffix: 'old', era: 'legacy', config: { ...old, isolation: 'session' } };
  return [
    ...(both ? [{ suffix: 'new', era: 'modern', config: {} } as const] : []),
    isolated,
    // The Go SDK serves the eras at two URLs.
    ...(both && carrier === 'http' && sdk !== 'go'
      ? [{ suffix: 'both', era: 'modern', config: { isolation: 'session' } } as const]
      : []),
    ...(carrier === 'stdio' ? [{ suffix: 'shared', era: 'legacy', config: old } as const] : []),
  ];
}

/** Everything that stands behind the gateway. All but the first entry of a process have their id in front of URIs. */
export const SERVERS: readonly ServerRow[] = PROCESSES.flatMap((process) =>
  waysOf(process).map(({ suffix, era, config }, index) => {
    const id = `${processId(process)}-${suffix}`;
    const isolated = 'isolation' in config;
    return {
      ...process,
      id,
      era,
      config,
      uris: index === 0 ? `note://${processId(process)}/` : `note://${id}!${processId(process)}/`,
      asks: era === 'modern' || isolated,
      // Without sessions the Go SDK does not notice that a request was given up.
      cancels: !(process.sdk === 'go' && process.carrier === 'http' && era === 'modern'),
      // A child of one session is not the child whose lists are read.
      tellsOfTools:
        (process.sdk !== 'fastmcp' || era === 'legacy') && !(isolated && process.carrier === 'stdio'),
      takesSubscriptions:
        (process.sdk === 'go' || (process.sdk === 'mcp2' && era === 'modern')) &&
        !(isolated && (process.carrier === 'stdio' || era === 'modern')),
    };
  }),
);

export const CLIENTS: readonly ClientRow[] = [
  { label: 'mcp 2, left to choose', sdk: 'mcp2', mode: 'auto', version: MODERN, listensAgain: true },
  { label: 'mcp 2, told to be old', sdk: 'mcp2', mode: 'legacy', version: LEGACY, listensAgain: true },
  { label: 'mcp 1', sdk: 'mcp1', mode: 'legacy', version: LEGACY, listensAgain: true },
  { label: 'fastmcp, left to choose', sdk: 'fastmcp', mode: 'auto', version: MODERN, listensAgain: true },
  { label: 'fastmcp, told to be old', sdk: 'fastmcp', mode: 'legacy', version: LEGACY, listensAgain: true },
  { label: 'Go, left to choose', sdk: 'go', mode: 'modern', version: MODERN, listensAgain: false },
  { label: 'Go, told to be old', sdk: 'go', mode: 'legacy', version: LEGACY, listensAgain: true },
];

/** How a client reaches the gateway. The transport of 2024-11-05 has no modern era. */
export const waysIn = ({ version }: ClientRow): readonly Carrier[] =>
  version === MODERN ? ['http', 'stdio'] : ['http', 'stdio', 'sse'];

/** A program with its arguments, as the configuration of the gateway has it too. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const python = (file: string) => fileURLToPath(new URL(`python/${file}.py`, import.meta.url));

/** Whether this machine can run peers on that SDK. */
export const isHere = (sdk: Sdk, installed: Installed): boolean =>
  (sdk === 'go' ? installed.go : installed.python) !== undefined;

function program(sdk: Sdk, role: 'server' | 'client', installed: Installed): Command {
  const found = sdk === 'go' ? installed.go : installed.python?.[sdk === 'mcp1' ? 'mcp1' : 'mcp2'];
  if (found === undefined) {
    throw new Error(`there are no peers on ${sdk} here`);
  }
  const args = sdk === 'go' ? [role === 'server' ? 'serve' : 'connect'] : ['-B', python(`${role}_${sdk}`)];
  return { command: found, args };
}

export function serverCommand(process: ServerProcess, installed: Installed): Command {
  const { command, args } = program(process.sdk, 'server', installed);
  return { command, args: [...args, processId(process), process.carrier] };
}

/** Where a client finds the gateway. */
export type Front =
  | { readonly carrier: 'http' | 'sse'; readonly url: string }
  | ({ readonly carrier: 'stdio' } & Command);

export function clientCommand({ sdk, mode }: ClientRow, front: Front, installed: Installed): Command {
  const { command, args } = program(sdk, 'client', installed);
  const target = front.carrier === 'stdio' ? JSON.stringify([front.command, ...front.args]) : front.url;
  return { command, args: [...args, front.carrier, target, mode] };
}

/** Servers from the registries, as their users start them, on either generation of the SDK. */
export const PUBLISHED = (['mcp2', 'mcp1'] as const).flatMap((sdk) =>
  (['time', 'git'] as const).map((name) => ({
    id: `${name}-${sdk}`,
    sdk,
    name,
    era: sdk === 'mcp2' ? ('modern' as const) : ('legacy' as const),
  })),
);
