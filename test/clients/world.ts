import type { JsonObject } from '../../src/base/json.ts';
import type { Era } from '../../src/protocol/model.ts';
import type { Script } from '../fixtures/upstreams/scripted-script.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

/** The tool that the recorded server gained while the client watched. */
export const LATE_TOOL = 'late_tool';
const LONG_NAME = `a_name_of_sixty_characters_${'x'.repeat(33)}`;

const TEXT_IN = { type: 'object', properties: { text: { type: 'string' } } };
const ADD_IN = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } };
const SUM = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
export const EITHER = {
  type: 'object',
  anyOf: [{ required: ['id'] }, { required: ['name'] }],
  properties: { id: { type: 'string' }, name: { type: 'string' } },
};

/** What `with_output` gives back. */
export const SUMMED = { content: [{ type: 'text', text: '{"sum":3}' }], structuredContent: { sum: 3 } };
/** Steps of progress that these tools report, where the caller wants any. */
export const PROGRESS: Readonly<Record<string, number>> = { plain_add: 2, slow_count: 3 };

/** The six tools of the recorded server, under the names that the clients call. */
const TOOLS: readonly JsonObject[] = [
  { name: 'demo.echo', description: 'Gives back what it gets', inputSchema: TEXT_IN },
  { name: 'plain_add', description: 'Counts on the way', inputSchema: ADD_IN },
  { name: 'with_output', inputSchema: { type: 'object' }, outputSchema: SUM },
  { name: LONG_NAME, inputSchema: { type: 'object' } },
  { name: 'any_of_root', inputSchema: EITHER },
  { name: 'slow_count', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
];
/** Its seventh, in the runs that asked what a client does with it: most legacy SDKs reject the whole list. */
export const LIST_OUTPUT: JsonObject = {
  name: 'list_output',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'array', items: { type: 'string' } },
};

const PROMPTS = ['greet', 'part'];
const RESOURCES = ['demo://one', 'demo://two'];
const TEMPLATES = ['demo://item/{id}'];

function demoScript(era: Era, tools: readonly JsonObject[]): Script {
  return {
    id: 'demo',
    era,
    tools,
    prompts: PROMPTS,
    resources: RESOURCES,
    templates: TEMPLATES,
    hints: { ttlMs: 300_000, cacheScope: 'public' },
    calls: {
      with_output: { does: 'raw', result: SUMMED },
      ...Object.fromEntries(
        Object.entries(PROGRESS).map(([name, steps]) => [name, { does: 'progress', steps }]),
      ),
    },
  };
}

const EXTRA: Script = {
  id: 'extra',
  tools: ['echo', 'whoami'],
  prompts: ['ask'],
  resources: ['extra://one'],
};

/** Names (for resources and templates: URIs) that a client must see, by method, in order. */
export type Listing = Readonly<Record<string, readonly string[]>>;

/** A gateway in front of the server that the clients were recorded with. */
export interface World extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly origin: string;
  /** What is listed now. */
  readonly listing: Listing;
  readonly pageSize?: number;
  /** Adds the late tool, announces it, and resolves when the gateway has it. */
  grow(): Promise<void>;
  /** As it was at first, every list read: what one client saw is nothing to the next. */
  reset(): Promise<void>;
  restart(): Promise<void>;
}

export interface WorldOptions {
  readonly era: Era;
  /** Items on one page of the gateway; then there is only the recorded server, with its six tools. */
  readonly pageSize?: number;
  /** The second upstream is a child process; default: HTTP, which a restart has back at once. */
  readonly child?: boolean;
}

/** Starts it and resolves when the gateway has read everything and hears changes. */
export async function startWorld({ era, pageSize, child = false }: WorldOptions): Promise<World> {
  const alone = pageSize !== undefined;
  const tools = alone ? TOOLS : [...TOOLS, LIST_OUTPUT];
  const demo = await startHttpUpstream(demoScript(era, tools), { namespace: '' });
  const extra = alone ? undefined : await (child ? startStdioUpstream : startHttpUpstream)({ ...EXTRA, era });
  const gateway = await startGateway({
    lists: { pageSize: pageSize ?? 0 },
    changes: { debounce: 0 },
    upstreams: { demo: demo.config, ...(extra === undefined ? {} : { extra: extra.config }) },
  });
  let heardFrom = 0;
  let grown = false;
  const late = async (there: boolean) => {
    await using agent = await connectModern(gateway.url, { greet: false });
    await agent.untilNames((names) => names.includes(LATE_TOOL) === there);
    grown = there;
  };
  await gateway.gateway.settled();
  await demo.untilListening();
  return {
    gateway,
    origin: gateway.origin,
    ...(alone ? { pageSize } : {}),
    get listing() {
      return listingOf([...tools.map(nameOf), ...(grown ? [LATE_TOOL] : [])], alone);
    },
    async grow() {
      await demo.untilListening({ after: heardFrom });
      await demo.setTools([...tools, LATE_TOOL]);
      await demo.notify('tools');
      await late(true);
    },
    async reset() {
      await gateway.gateway.settled();
      if (grown) {
        await demo.setTools(tools);
        await demo.notify('tools');
        await late(false);
      }
    },
    async restart() {
      heardFrom = demo.mark();
      await gateway.restart();
    },
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await demo[Symbol.asyncDispose]();
      await extra?.[Symbol.asyncDispose]();
    },
  };
}

const nameOf = (tool: JsonObject): string => String(tool['name']);

function listingOf(tools: readonly string[], alone: boolean): Listing {
  const more = (own: readonly string[], others: readonly string[]) => (alone ? own : [...own, ...others]);
  return {
    'tools/list': more(tools, ['extra.echo', 'extra.whoami']),
    'prompts/list': more(PROMPTS, ['extra.ask']),
    'resources/list': more(RESOURCES, ['extra://one']),
    'resources/templates/list': TEMPLATES,
  };
}
