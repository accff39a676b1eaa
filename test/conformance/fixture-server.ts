import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  type NodeIncomingMessageLike,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type EventStore,
  isLegacyRequest,
  type JSONRPCMessage,
  McpServer,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { memorySkillFiles, SkillCatalog } from '@modelcontextprotocol/server/ext/skills';
import { addContent, said } from './fixture-content.ts';
import { addQuestions, states } from './fixture-questions.ts';

/** The reference server of the suite, on the official SDK. */

/** Which clients a fixture serves: those of one era alone, or both on one URL. */
export type FixtureEra = 'legacy' | 'modern' | 'dual';

export interface Fixture extends AsyncDisposable {
  readonly url: string;
}

type Kind = 'tools' | 'prompts';

/** What the trigger tools switch on and off. It outlives an instance: the SDK makes a new one for every modern request. */
class Extras {
  readonly on: Record<Kind, boolean> = { tools: false, prompts: false };
  readonly listeners = new Set<(kind: Kind) => void>();

  toggle(kind: Kind): void {
    this.on[kind] = !this.on[kind];
    for (const listener of this.listeners) {
      listener(kind);
    }
  }
}

/** Skills on two pages (SEP-2640). */
const SKILLS = {
  'greeting/SKILL.md': '---\nname: greeting\ndescription: How to greet\n---\n\nSee references/words.md.\n',
  'greeting/references/words.md': 'Hello.\n',
  'parting/SKILL.md': '---\nname: parting\ndescription: How to part\n---\n\nSay goodbye.\n',
};

/** How long a client waits before it comes back to a stream that was closed on it, in ms. */
const RETRY_MS = 200;

/** `skills`: whether it has the skills extension too. */
export async function startFixture(era: FixtureEra, { skills = true } = {}): Promise<Fixture> {
  const extras = new Extras();
  const files = memorySkillFiles(SKILLS);
  const catalog = skills ? await SkillCatalog.load(files, { pageSize: 1 }) : undefined;
  const make = () => build(extras, catalog);
  const modern = createMcpHandler(() => make().server, { legacy: 'reject' });
  extras.listeners.add((kind) =>
    kind === 'tools' ? modern.notify.toolsChanged() : modern.notify.promptsChanged(),
  );
  const sessions = new Sessions(make, extras.listeners);
  const byRequest = async (request: Request) =>
    (await isLegacyRequest(request))
      ? sessions.fetch(request)
      : namingAll(await modern.fetch(request), request);
  const fetch = { legacy: sessions.fetch, modern: modern.fetch, dual: byRequest }[era];
  const { url, close } = await listen(toNodeHandler({ fetch }));
  return {
    url,
    async [Symbol.asyncDispose]() {
      await Promise.all([modern.close(), sessions.close()]);
      await close();
    },
  };
}

/** The SDK names only modern versions in the answer to `server/discover`; a server of both eras has more to name. */
async function namingAll(response: Response, request: Request): Promise<Response> {
  if (request.headers.get('mcp-method') !== 'server/discover' || !response.ok) {
    return response;
  }
  const body = (await response.json()) as { result: { supportedVersions: string[] } };
  const supportedVersions = [...new Set([...body.result.supportedVersions, ...SUPPORTED_PROTOCOL_VERSIONS])];
  return Response.json({ ...body, result: { ...body.result, supportedVersions } });
}

interface Instance {
  readonly server: McpServer;
  /** Brings its lists up to date, and announces it. */
  readonly sync: (kind: Kind) => void;
}

function build(extras: Extras, skills: SkillCatalog | undefined): Instance {
  const changing = { listChanged: true };
  const server = new McpServer(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: changing,
        prompts: changing,
        resources: { ...changing, subscribe: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: states.verify },
    },
  );
  addContent(server);
  addQuestions(server);
  for (const [kind, name] of [
    ['tools', 'test_trigger_tool_change'],
    ['prompts', 'test_trigger_prompt_change'],
  ] as const) {
    server.registerTool(name, { description: `Changes the list of ${kind}` }, () => {
      extras.toggle(kind);
      return said('changed');
    });
  }
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  skills?.attach(server);
  return { server, sync: extraItems(server, extras) };
}

/** Registers the extra items that are on; the function returned does so again after a change, which announces it. */
function extraItems(server: McpServer, extras: Extras): (kind: Kind) => void {
  const there: Partial<Record<Kind, { remove(): void }>> = {};
  const add = {
    tools: () =>
      server.registerTool('test_extra_tool', { description: 'Comes and goes' }, () => said('here')),
    prompts: () =>
      server.registerPrompt('test_extra_prompt', { description: 'Comes and goes' }, () => ({ messages: [] })),
  };
  const sync = (kind: Kind) => {
    there[kind]?.remove();
    delete there[kind];
    if (extras.on[kind]) {
      there[kind] = add[kind]();
    }
  };
  sync('tools');
  sync('prompts');
  return sync;
}

/** Serving of the `initialize` era: one instance for each session, with streams that can be resumed. */
class Sessions {
  readonly #make: () => Instance;
  readonly #listeners: Set<Instance['sync']>;
  readonly #open = new Map<string, WebStandardStreamableHTTPServerTransport>();

  constructor(make: () => Instance, listeners: Set<Instance['sync']>) {
    this.#make = make;
    this.#listeners = listeners;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? await this.#start() : this.#open.get(id);
    return known?.handleRequest(request) ?? Response.json(UNKNOWN_SESSION, { status: 404 });
  };

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((transport) => transport.close()));
  }

  /** A session that has not begun: it takes no other request than `initialize`. */
  async #start(): Promise<WebStandardStreamableHTTPServerTransport> {
    const { server, sync } = this.#make();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: memory(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => {
        this.#open.set(id, transport);
        this.#listeners.add(sync);
      },
      onsessionclosed: (id) => {
        this.#open.delete(id);
        this.#listeners.delete(sync);
      },
    });
    await server.connect(transport);
    return transport;
  }
}

const UNKNOWN_SESSION = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } };

/** Every event of one session, in order, so that a stream can be resumed after any of them. */
function memory(): EventStore {
  const events: { readonly stream: string; readonly message: JSONRPCMessage }[] = [];
  return {
    storeEvent: async (stream, message) => `${stream}/${events.push({ stream, message }) - 1}`,
    async replayEventsAfter(lastEventId, { send }) {
      const cut = lastEventId.lastIndexOf('/');
      const stream = lastEventId.slice(0, cut);
      for (const [index, event] of events.entries()) {
        // A priming event carries an empty message: nothing to repeat.
        if (
          index > Number(lastEventId.slice(cut + 1)) &&
          event.stream === stream &&
          'jsonrpc' in event.message
        ) {
          await send(`${stream}/${index}`, event.message);
        }
      }
      return stream;
    },
  };
}

type Serve = ReturnType<typeof toNodeHandler>;

/** Serves on a free loopback port under the name `localhost`, as the suite wants it; other names are refused. */
async function listen(serve: Serve): Promise<{ url: string; close: () => Promise<void> }> {
  const hostAllowed = localhostHostValidation();
  const originAllowed = localhostOriginValidation();
  const server = createServer((request, response) => {
    if (hostAllowed(request, response) && originAllowed(request, response)) {
      serve(request as NodeIncomingMessageLike, response).catch(() => response.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
