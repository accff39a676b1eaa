import {
  type ClientCapabilities as Capabilities2,
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
  SSEClientTransport as Sse2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as Sse1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as Transport1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { ClientCapabilities as Capabilities1 } from '@modelcontextprotocol/sdk/types.js';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import type { Answers } from './agent.ts';
import { compileCache } from './compile-cache.ts';
import { createMessageQueue, type MessageQueue } from './message-queue.ts';

/** Which official client: the v1 SDK, or v2 with its way to find the era. */
export type SdkLabel = 'v1' | 'v2-auto' | 'v2-legacy' | 'v2-modern';

/** For tests as a matrix over every official client. */
export const SDK_CLIENTS: readonly SdkLabel[] = ['v1', 'v2-auto', 'v2-legacy', 'v2-modern'];

/** What to connect to; several at once are refused by their types. */
export type SdkTarget =
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly sseUrl: string }
  | {
      readonly command: string;
      readonly args?: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
    };

export interface SdkOptions {
  readonly capabilities?: JsonObject;
  /** Answers to elicitation/create, sampling/createMessage and roots/list. */
  readonly answers?: Answers;
}

interface SdkCallOptions {
  readonly onProgress?: (progress: JsonObject) => void;
  readonly signal?: AbortSignal;
}

/** The same face on every official client. Results are plain objects, as the SDK parsed them. */
export interface SdkFace extends AsyncDisposable {
  readonly label: SdkLabel;
  /** Negotiated protocol version. */
  readonly version: string | undefined;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** Notifications that the SDK itself does not consume, list changes first of all. */
  readonly notices: MessageQueue;
  listTools(): Promise<JsonObject[]>;
  listPrompts(): Promise<JsonObject[]>;
  listResources(): Promise<JsonObject[]>;
  listTemplates(): Promise<JsonObject[]>;
  callTool(name: string, args?: JsonObject, options?: SdkCallOptions): Promise<JsonObject>;
  getPrompt(name: string, args?: Readonly<Record<string, string>>): Promise<JsonObject>;
  readResource(uri: string): Promise<JsonObject>;
  complete(ref: JsonObject, argument: { name: string; value: string }): Promise<JsonObject>;
  /** Opens a listen stream where the era has one; legacy clients hear changes anyway. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

const NAME = { name: 'sdk-client', version: '1.0.0' };

/** Connects an official client. Rejects as the SDK does; nothing is left behind then. */
export function connectSdk(label: SdkLabel, target: SdkTarget, options: SdkOptions = {}): Promise<SdkFace> {
  return label === 'v1' ? connectV1(target, options) : connectV2(label, target, options);
}

async function connectV1(target: SdkTarget, options: SdkOptions): Promise<SdkFace> {
  const capabilities = (options.capabilities ?? {}) as Capabilities1;
  const client = new Client1(NAME, { capabilities });
  const notices = createMessageQueue('SDK v1 client');
  client.fallbackNotificationHandler = async (notice) => notices.push(notice);
  client.fallbackRequestHandler = async (request) => {
    const answer = options.answers?.[request.method];
    if (!answer) {
      throw new Error(`no answer to ${request.method}`);
    }
    return { ...(await answer(isObject(request.params) ? request.params : {})) };
  };
  let version: string | undefined;
  const transport = transportV1(target);
  // The SDK tells the transport what was agreed, and nobody else.
  transport.setProtocolVersion = after(transport.setProtocolVersion?.bind(transport), (agreed) => {
    version = agreed;
  });
  await connected(client, transport);
  return {
    label: 'v1',
    get version() {
      return version;
    },
    capabilities: plain(client.getServerCapabilities() ?? {}),
    instructions: client.getInstructions(),
    notices,
    listTools: () => pages((cursor) => client.listTools(cursor), 'tools'),
    listPrompts: () => pages((cursor) => client.listPrompts(cursor), 'prompts'),
    listResources: () => pages((cursor) => client.listResources(cursor), 'resources'),
    listTemplates: () => pages((cursor) => client.listResourceTemplates(cursor), 'resourceTemplates'),
    callTool: async (name, args = {}, call = {}) =>
      plain(await client.callTool({ name, arguments: args }, undefined, callOptions(call))),
    getPrompt: async (name, args = {}) => plain(await client.getPrompt({ name, arguments: args })),
    readResource: async (uri) => plain(await client.readResource({ uri })),
    complete: async (ref, argument) => plain(await client.complete({ ref: ref as never, argument })),
    listen: () => Promise.resolve(),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function transportV1(target: SdkTarget): Transport1 {
  if ('url' in target) {
    const requestInit = { headers: { ...target.headers } };
    return new Http1(new URL(target.url), { requestInit }) as Transport1;
  }
  if ('sseUrl' in target) {
    return new Sse1(new URL(target.sseUrl));
  }
  return new Stdio1(childOf(target));
}

async function connectV2(label: SdkLabel, target: SdkTarget, options: SdkOptions): Promise<SdkFace> {
  const mode = {
    'v2-auto': 'auto',
    'v2-legacy': 'legacy',
    'v2-modern': { pin: '2026-07-28' },
    v1: 'legacy',
  } as const;
  const client = new Client2(NAME, {
    capabilities: (options.capabilities ?? {}) as Capabilities2,
    versionNegotiation: { mode: mode[label] },
  });
  const notices = createMessageQueue(`SDK ${label} client`);
  client.fallbackNotificationHandler = async (notice) => notices.push(notice);
  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list'] as const) {
    const answer = options.answers?.[method];
    if (answer) {
      client.setRequestHandler(method, async (request) => {
        const given = await answer(isObject(request.params) ? request.params : {});
        return given as never;
      });
    }
  }
  await connected(client, transportV2(target));
  return {
    label,
    get version() {
      return client.getNegotiatedProtocolVersion();
    },
    capabilities: plain(client.getServerCapabilities() ?? {}),
    instructions: client.getInstructions(),
    notices,
    listTools: async () => plain(await client.listTools())['tools'] as JsonObject[],
    listPrompts: async () => plain(await client.listPrompts())['prompts'] as JsonObject[],
    listResources: async () => plain(await client.listResources())['resources'] as JsonObject[],
    listTemplates: async () =>
      plain(await client.listResourceTemplates())['resourceTemplates'] as JsonObject[],
    callTool: async (name, args = {}, call = {}) =>
      plain(await client.callTool({ name, arguments: args }, callOptions(call))),
    getPrompt: async (name, args = {}) => plain(await client.getPrompt({ name, arguments: args })),
    readResource: async (uri) => plain(await client.readResource({ uri })),
    complete: async (ref, argument) => plain(await client.complete({ ref: ref as never, argument })),
    async listen() {
      if (client.getProtocolEra() === 'modern') {
        await client.listen({
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
        });
      }
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function transportV2(target: SdkTarget): Http2 | Sse2 | Stdio2 {
  if ('url' in target) {
    return new Http2(new URL(target.url), { requestInit: { headers: { ...target.headers } } });
  }
  if ('sseUrl' in target) {
    return new Sse2(new URL(target.sseUrl));
  }
  return new Stdio2(childOf(target));
}

/** The child's stderr is thrown away: it must not mix with the report of the tests. */
function childOf(target: Extract<SdkTarget, { command: string }>) {
  return {
    command: target.command,
    args: [...(target.args ?? [])],
    env: { ...compileCache, ...target.env },
    stderr: 'ignore' as const,
  };
}

async function connected<Transport>(
  client: { connect(transport: Transport): Promise<void>; close(): Promise<void> },
  transport: Transport,
): Promise<void> {
  try {
    await client.connect(transport);
  } catch (error) {
    await client.close();
    throw error;
  }
}

function after<Value>(first: ((value: Value) => void) | undefined, then: (value: Value) => void) {
  return (value: Value): void => {
    first?.(value);
    then(value);
  };
}

function callOptions({ onProgress, signal }: SdkCallOptions) {
  return {
    ...(onProgress ? { onprogress: (progress: unknown) => onProgress(plain(progress)) } : {}),
    ...(signal ? { signal } : {}),
  };
}

/** The v1 SDK reads one page a call; applications walk the rest, as this does. */
async function pages(
  list: (params: { cursor?: string }) => Promise<{ nextCursor?: string | undefined }>,
  member: string,
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...(plain(page)[member] as JsonObject[]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

function plain(value: unknown): JsonObject {
  return value as JsonObject;
}
