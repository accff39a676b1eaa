import { expect } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { asOne, startReplicas } from '../cluster/replicas.ts';
import { authFor, headersOf } from '../e2e/access-world.ts';
import type { Agent, AgentOptions } from '../kit/agent.ts';
import { type Doorkeeper, type Gate, startGate } from '../kit/gate.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { REPLICAS } from './replicas.ts';
import { foreignIn, PEOPLE, type Person, secretsIn } from './secrets.ts';
import { diaryServer, hiddenServer, serverOf, TASKS, teamServer } from './servers.ts';
import { startTap, type Tap } from './tap.ts';

/** A gateway, the people who use it, and servers behind it that keep them apart in every way there is. */

const USERS = ['alice', 'amy', 'bob'] as const;
export type User = (typeof USERS)[number];

const ANYBODY = { anyone: true };
export const RULES = [
  { who: ANYBODY, deny: ['resource:team.team://*/closed*'], allow: ['team.pages/get'] },
  {
    who: { groups: ['red'] },
    allow: ['tool:team.red_*', 'prompt:team.red_*', 'resource:team.team://red*', 'team.pages/red', 'reds.*'],
  },
  {
    who: { groups: ['blue'] },
    allow: ['tool:team.blue_*', 'prompt:team.blue_*', 'resource:team.team://blue*', 'blues.*'],
  },
  { who: ANYBODY, allow: ['tool:team.both'] },
  { who: ANYBODY, deny: ['team.*', 'reds.*', 'blues.*'] },
  { who: ANYBODY, allow: ['*'] },
];

/** What stands at the other end of one entry of the configuration. */
export interface Entry {
  readonly config: JsonObject;
  /** By the user who gets there, or the one for all under ''. */
  readonly servers: Readonly<Record<string, ScriptedUpstream>>;
  readonly gate?: Gate;
}

export type Start = (scope: AsyncDisposableStack) => Promise<Entry>;

/** A server of each user's own behind one URL; `who` tells from the headers whose a request is. */
export const byUser =
  (script: (user: User) => Script, who: Doorkeeper, config: JsonObject): Start =>
  async (scope) => {
    const servers: Record<string, ScriptedUpstream> = {};
    for (const user of USERS) {
      servers[user] = scope.use(await startHttpUpstream(script(user)));
    }
    const gate = scope.use(await startGate((user) => String(servers[user]?.config['url']), who));
    return { config: { url: gate.url('/mcp'), ...config }, servers, gate };
  };

const byHeader = (id: string, era: 'modern' | 'legacy', config: JsonObject = {}, more: Script = {}): Start =>
  byUser(
    (user) => serverOf(id, user, era, more),
    ({ 'x-user': user }) => (user === undefined ? 401 : String(user)),
    { credentials: { type: 'userHeader', name: 'X-User' }, ...config },
  );

const forAll =
  (start: typeof startHttpUpstream | typeof startStdioUpstream, script: Script, config = {}): Start =>
  async (scope) => {
    const server = scope.use(await start(script));
    return { config: { ...server.config, ...config }, servers: { '': server } };
  };

const PLAIN = ['echo', 'slow', 'count', 'ask', 'progress'];
const CROWD = { limits: { concurrency: 1_000, queue: 1_000 }, restart: { base: '20ms', cap: '50ms' } };

const UPSTREAMS = {
  /** Knows its users; each era. */
  mine: byHeader('mine', 'modern', CROWD),
  old: byHeader('old', 'legacy', CROWD),
  /** Knows its users, and says of its tools that they are everybody's. */
  pub: byHeader(
    'pub',
    'modern',
    { cache: { trustPublic: true } },
    {
      tools: ['common'],
      hintsFor: { 'tools/list': { ttlMs: 60_000, cacheScope: 'public' } },
    },
  ),
  /** Knows its users, and says of everything that it is everybody's, which it is not: nobody said to believe that. */
  fib: byHeader('fib', 'modern', {}, { hints: { ttlMs: 60_000, cacheScope: 'public' } }),
  /** Does not know its users, but each has a connection, or each session has. */
  box: forAll(
    startStdioUpstream,
    { id: 'box', era: 'legacy', tools: PLAIN },
    { isolation: 'user', ...CROWD },
  ),
  sess: forAll(
    startHttpUpstream,
    { id: 'sess', era: 'legacy', tools: PLAIN },
    { isolation: 'session', ...CROWD },
  ),
  /** One identity for all: rules, and hints, are all that keeps users apart. */
  team: forAll(startHttpUpstream, teamServer()),
  reds: forAll(startStdioUpstream, hiddenServer('reds', 'red', 'legacy')),
  blues: forAll(startHttpUpstream, hiddenServer('blues', 'blue', 'modern')),
  diary: forAll(startHttpUpstream, diaryServer('alice')),
} satisfies Record<string, Start>;

type UpstreamId = keyof typeof UPSTREAMS;

/** How people sign in. */
export interface SignIn {
  /** The section `auth`. */
  readonly auth: JsonObject;
  headersOf(person: Person): { readonly authorization: string };
  /** What people signed in with, and so must never be seen again: in no answer, no log, at no server. */
  credentials(): readonly string[];
  /** What servers were reached with: to be seen by them alone. */
  granted?(): readonly string[];
}

const KEYS: SignIn = {
  auth: authFor(PEOPLE),
  headersOf,
  credentials: () =>
    Object.keys(PEOPLE).map((person) => headersOf(person).authorization.slice('Bearer '.length)),
};

export interface WorldOptions {
  /** Further sections of the configuration. */
  readonly config?: JsonObject;
  /** Default: with keys. */
  readonly signIn?: SignIn;
  /** So many gateways that share a state, each request to the next one; default: one. */
  readonly replicas?: number;
  /** Further upstreams. */
  readonly upstreams?: Readonly<Record<string, Start>>;
}

/** What every client here can do. */
export const ABLE = { capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } } };

/** `logLevel` is for clients of the modern era. */
export interface ClientOptions extends AgentOptions {
  readonly logLevel?: string;
}

type Connect = (url: string, options?: ClientOptions) => Promise<Agent>;

export interface World extends AsyncDisposable {
  readonly gateway: StartedGateway;
  /** The server that this user gets to. */
  server(id: string, user?: User): ScriptedUpstream;
  gate(id: string): Gate;
  /** Gives the gateway another configuration: these sections, and of upstreams these keys, in the place of its own. */
  reload(sections: JsonObject): void;
  /** A client of that person; `path` follows `/mcp`. */
  as(person: Person, connect: Connect, path?: string, options?: ClientOptions): Promise<Agent>;
  /**
   * Expects that nobody ever received a secret of somebody else, nor where servers are, and that no line of the log holds
   * a secret of anybody but whom it is about, nor what anybody signs in with; tells which secrets came to their owners.
   */
  sweep(): Readonly<Record<Person, readonly string[]>>;
}

/** What a line of the log should not hold. */
function foreignInLog(line: Readonly<Record<string, unknown>>): readonly string[] {
  const text = JSON.stringify(line);
  const { principal } = line;
  const isPerson = typeof principal === 'string' && Object.hasOwn(PEOPLE, principal);
  return isPerson ? foreignIn(text, principal as Person) : [...secretsIn(text).keys()];
}

/** Addresses and paths of servers: nothing that a client is to know. */
function placesOf({ config, servers }: Entry): readonly string[] {
  const all = [config, ...Object.values(servers).map((server) => server.config)];
  const places = all
    .flatMap(({ url, args }) => [url, args].flat())
    .filter((place) => typeof place === 'string');
  return places.map((place) => (place.startsWith('http') ? new URL(place).host : place));
}

export async function startWorld(
  ids: readonly UpstreamId[],
  { config = {}, signIn = KEYS, upstreams = {}, replicas = REPLICAS }: WorldOptions = {},
): Promise<World> {
  const scope = new AsyncDisposableStack();
  const entries: Record<string, Entry> = {};
  const known: Readonly<Record<string, Start>> = { ...UPSTREAMS, ...upstreams };
  for (const id of [...ids, ...Object.keys(upstreams)]) {
    entries[id] = await known[id]!(scope);
  }
  const configOf = (more: JsonObject): GatewayConfig => {
    const all = { ...config, ...more };
    return {
      listen: { allowedHosts: ['127.0.0.1'] },
      auth: signIn.auth,
      access: RULES,
      operators: { groups: ['ops'] },
      shutdown: { grace: '100ms' },
      views: { near: { include: ['team.*', 'mine.*'] } },
      ...all,
      // However slow the machine is, nobody is to see less for that.
      lists: { firstWait: '20s', ...objectAt(all, 'lists') },
      upstreams: Object.fromEntries(
        Object.entries(entries).map(([id, entry]) => [
          id,
          { ...entry.config, ...objectAt(objectAt(more, 'upstreams'), id) },
        ]),
      ),
    };
  };
  const gateway = scope.use(
    replicas === 1 ? await startGateway(configOf({})) : asOne(await startReplicas(replicas, configOf({}))),
  );
  await gateway.gateway.settled();
  const people = Object.keys(PEOPLE) as Person[];
  const taps = {} as Record<Person, Tap>;
  for (const person of people) {
    taps[person] = scope.use(await startTap(() => gateway.port));
  }
  const entry = (id: string): Entry => {
    const found = entries[id];
    if (found === undefined) {
      throw new Error(`${id} is not in this world`);
    }
    return found;
  };
  return {
    gateway,
    reload: (sections) => void gateway.reload(configOf(sections)),
    server(id, user = 'alice') {
      const { servers } = entry(id);
      const found = servers[user] ?? servers[''];
      if (found === undefined) {
        throw new Error(`there is no ${id} for ${user}`);
      }
      return found;
    },
    gate(id) {
      const { gate } = entry(id);
      if (gate === undefined) {
        throw new Error(`${id} has no gate`);
      }
      return gate;
    },
    as: (person, connect, path = '', options = {}) =>
      connect(`${taps[person].origin}/mcp${path}`, {
        ...ABLE,
        ...options,
        headers: { ...signIn.headersOf(person), ...options.headers },
      }),
    sweep() {
      const credentials = signIn.credentials();
      const secrets = [...credentials, ...(signIn.granted?.() ?? [])];
      const places = Object.values(entries).flatMap(placesOf);
      for (const line of gateway.logged) {
        expect(foreignInLog(line)).toEqual([]);
      }
      const log = JSON.stringify(gateway.logged);
      expect(secrets.filter((text) => log.includes(text))).toEqual([]);
      const servers = Object.values(entries).flatMap((each) => Object.values(each.servers));
      const heard = JSON.stringify(servers.map(({ received }) => received));
      expect(credentials.filter((text) => heard.includes(text))).toEqual([]);
      const found = people.map((person) => {
        const received = taps[person].received();
        expect(foreignIn(received, person), `received by ${person}`).toEqual([]);
        const inside = [...secrets, ...places].filter((text) => received.includes(text));
        expect(inside, `received by ${person}`).toEqual([]);
        expect(received).not.toMatch(/\bat \S+ \(?(?:file|node):|node_modules|\/src\//);
        return [person, [...secretsIn(received).values()].flatMap((set) => [...set])];
      });
      return Object.fromEntries(found);
    },
    [Symbol.asyncDispose]: () => scope.disposeAsync(),
  };
}
