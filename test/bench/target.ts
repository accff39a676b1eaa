import type { Case } from './cases.ts';

export type Era = 'modern' | 'legacy' | 'sse';

export type Server = { readonly url: string } | { readonly command: readonly string[] };

/** The servers that a target stands in front of, and where it may leave files. */
export interface Setting {
  readonly port: number;
  readonly folder: string;
  readonly servers: Readonly<Record<string, Server>>;
  readonly pageSize: number;
  /** The program of Patchbay that is measured. */
  readonly main: string;
  /** Ends with the run. */
  readonly stack: AsyncDisposableStack;
}

export interface Start {
  /** Empty: nothing is started, the server itself is called. */
  readonly command: readonly string[];
  /** Path of its endpoint. */
  readonly path: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Target {
  /** Whether one instance stands in front of many servers. */
  readonly merges: boolean;
  /** What it can stand in front of, the usual first. */
  readonly kinds: readonly Case['kind'][];
  /** What its clients can speak, the usual first; `sse`: HTTP+SSE of 2024-11-05. */
  readonly eras: readonly Era[];
  /** The name under which a tool of a server is called. */
  readonly tool: (server: string, tool: string) => string;
  /** For one that hides tools behind a tool of its own: its name, and its arguments with `@` where the text goes. */
  readonly wrapped?: (server: string, tool: string) => { readonly name: string; readonly arguments: object };
  /** The echo of its servers is what an output schema promises. */
  readonly structured?: boolean;
  /** Cases that make no sense for it. */
  readonly skips?: readonly string[];
  /** It talks to the internet by itself, so it runs where there is none; its package has to be there before. */
  readonly apart?: { readonly name: string; readonly version: string };
  /** Throws {@link Absent}. */
  readonly start: (setting: Setting) => Start | Promise<Start>;
}

/** A target that cannot be had on this machine, and why. */
export class Absent extends Error {}

export const same = (_server: string, tool: string): string => tool;
export const dotted = (server: string, tool: string): string => `${server}.${tool}`;

/** The URL of the first server. */
export function urlOf({ servers }: Setting): string {
  const [first] = Object.values(servers);
  return first !== undefined && 'url' in first ? first.url : '';
}

/** The servers as most hosts write them down, as JSON. */
export function mcpServers({ servers }: Setting): string {
  const entries = Object.entries(servers).map(([id, server]) => {
    if ('url' in server) {
      return [id, { url: server.url }];
    }
    const [command = '', ...args] = server.command;
    return [id, { command, args }];
  });
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) });
}
