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

/** One entry of the gateway's configuration: a server process, and the era it is spoken to in. */
export interface ServerRow extends ServerProcess {
  /** Id in the configuration, hence the prefix of its names. */
  readonly id: string;
  readonly era: Era;
  /** What its resources begin with, as clients see them. */
  readonly uris: string;
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
  readonly version: string;
}

const PROCESSES: readonly ServerProcess[] = (['http', 'stdio', 'sse'] as const).flatMap((carrier) =>
  (['mcp2', 'mcp1', 'fastmcp', 'go'] as const).map((sdk) => ({ sdk, carrier })),
);

/** Id that a server process gives itself, the authority of its URIs. */
export const processId = ({ sdk, carrier }: ServerProcess): string => `${sdk}-${carrier}`;

const erasOf = ({ sdk, carrier }: ServerProcess): readonly Era[] =>
  sdk === 'mcp1' || carrier === 'sse' ? ['legacy'] : ['modern', 'legacy'];

/** Everything that stands behind the gateway. The second entry of a process has its id in front of every URI. */
export const SERVERS: readonly ServerRow[] = PROCESSES.flatMap((process) =>
  erasOf(process).map((era, index) => {
    const id = `${processId(process)}-${era}`;
    return {
      ...process,
      id,
      era,
      uris: index === 0 ? `note://${processId(process)}/` : `note://${id}!${processId(process)}/`,
      tellsOfTools: process.sdk !== 'fastmcp' || era === 'legacy',
      takesSubscriptions: process.sdk === 'go' || (process.sdk === 'mcp2' && era === 'modern'),
    };
  }),
);

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';

export const CLIENTS: readonly ClientRow[] = [
  { label: 'mcp 2, left to choose', sdk: 'mcp2', mode: 'auto', version: MODERN },
  { label: 'mcp 2, told to be old', sdk: 'mcp2', mode: 'legacy', version: LEGACY },
  { label: 'mcp 1', sdk: 'mcp1', mode: 'http', version: LEGACY },
  { label: 'fastmcp, left to choose', sdk: 'fastmcp', mode: 'auto', version: MODERN },
  { label: 'fastmcp, told to be old', sdk: 'fastmcp', mode: 'legacy', version: LEGACY },
  { label: 'Go, left to choose', sdk: 'go', mode: 'modern', version: MODERN },
  { label: 'Go, told to be old', sdk: 'go', mode: 'legacy', version: LEGACY },
];

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

export function clientCommand({ sdk, mode }: ClientRow, url: string, installed: Installed): Command {
  const { command, args } = program(sdk, 'client', installed);
  return { command, args: [...args, url, mode] };
}
