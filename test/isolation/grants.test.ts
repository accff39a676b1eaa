import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import type { Era } from '../../src/protocol/model.ts';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startGate } from '../kit/gate.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import type { Recorded } from '../kit/recorder.ts';
import { startTokenIssuer, type TokenIssuer } from '../kit/token-issuer.ts';
import { startTokenServer, type TokenServer } from '../kit/token-server.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';
import { expectOnce, REPLICAS } from './replicas.ts';
import { type Start, startWorld, type World } from './world.ts';

/** One user who comes with a token for more and with one for less, and servers that answer by what each is good for. */

const RIGHTS = ['more', 'less'] as const;
type Rights = (typeof RIGHTS)[number];
const SERVERS = [
  ['newer', 'modern'],
  ['older', 'legacy'],
] as const;
type Id = (typeof SERVERS)[number][0];
const UPDATED = 'notifications/resources/updated';
const changed = (kind: string) => `notifications/${kind}/list_changed`;

let issuer: TokenIssuer;
let tokens: TokenServer;
let world: World;
const used: string[] = [];
const servers = new Map<string, ScriptedUpstream>();
/** With which status a server turns away whoever has these rights. */
const refused = new Map<Rights, number>();
const scope = new AsyncDisposableStack();

const scriptOf = (id: string, era: Era, rights: Rights): Script => ({
  id,
  era,
  hints: { ttlMs: 60_000, cacheScope: 'private' },
  instructions: `${id} says this for ${rights}.`,
  tools: rights === 'more' ? ['common', 'extra'] : ['common'],
  prompts: ['brief'],
  resources: [`${id}://page`, `${id}://other`],
  readResults: { [`${id}://page`]: { contents: [{ uri: `${id}://page`, text: `page for ${rights}` }] } },
});

const byRights =
  (id: string, era: Era): Start =>
  async (stack) => {
    for (const rights of RIGHTS) {
      servers.set(`${id} ${rights}`, stack.use(await startHttpUpstream(scriptOf(id, era, rights))));
    }
    const gate = stack.use(
      await startGate(
        (rights) => String(servers.get(`${id} ${rights}`)?.config['url']),
        ({ authorization = '' }) => {
          const rights = tokens.whois(authorization.slice('Bearer '.length))?.subject as Rights | undefined;
          return rights === undefined ? 401 : (refused.get(rights) ?? rights);
        },
      ),
    );
    const { clientId, clientSecret } = tokens;
    const credentials = { type: 'tokenExchange', issuer: tokens.issuer, clientId, clientSecret };
    const config = { url: gate.url('/mcp'), credentials, restart: { base: '20ms', cap: '50ms' } };
    return { config, servers: {}, gate };
  };

beforeAll(async () => {
  issuer = scope.use(await startTokenIssuer());
  tokens = scope.use(await startTokenServer());
  world = scope.use(
    await startWorld([], {
      signIn: {
        auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, audience: ['gateway'], clockTolerance: '0s' } },
        headersOf: () => ({ authorization: 'Bearer of-nobody' }),
        credentials: () => used,
        granted: () => tokens.tokens,
      },
      upstreams: Object.fromEntries(SERVERS.map(([id, era]) => [id, byRights(id, era)])),
    }),
  );
});

afterAll(() => scope.disposeAsync());

let times = 0;

/** Alice's two tokens, as headers. Rights of their own each time: nothing is known of them before. */
async function comesWith(): Promise<
  Record<Rights, { readonly headers: { readonly authorization: string } }>
> {
  times += 1;
  const headersFor = async (rights: Rights) => {
    const token = await issuer.token('gateway', {
      claims: { sub: 'alice', scope: `${rights} test-${times}` },
    });
    tokens.trust(token, rights);
    used.push(token);
    return { headers: { authorization: `Bearer ${token}` } };
  };
  return { more: await headersFor('more'), less: await headersFor('less') };
}

const server = (id: Id, rights: Rights): ScriptedUpstream => {
  const found = servers.get(`${id} ${rights}`);
  if (found === undefined) {
    throw new Error(`there is no ${id} for ${rights}`);
  }
  return found;
};

async function toolsOf(agent: Agent, id: Id, options: { headers?: Record<string, string> } = {}) {
  const { tools } = await agent.result('tools/list', {}, options);
  return (tools as JsonObject[]).map(({ name }) => String(name)).filter((name) => name.startsWith(id));
}

async function pageOf(agent: Agent, id: Id, options: { headers?: Record<string, string> }) {
  const { contents } = await agent.result('resources/read', { uri: `${id}://page` }, options);
  return (contents as JsonObject[])[0]?.['text'];
}

const count = (stream: NoticeStream, method: string) =>
  stream.all.filter((each) => each['method'] === method).length;

describe.each(AGENTS)('of a $era client', ({ connect }) => {
  const as = (options: { readonly headers: { readonly authorization: string } }) =>
    world.as('alice', connect, '', options);

  it.each(SERVERS)('lists and reads of %s are those of the token that asks, at once', async (id) => {
    const { more, less } = await comesWith();
    await using alice = await as(less);
    const asked = RIGHTS.map(
      (rights) => [server(id, rights), server(id, rights).count('tools/list')] as const,
    );
    // A step up, back, and up again: each finds what is its own, and costs one walk.
    for (const rights of ['less', 'more', 'less', 'more'] as const) {
      const options = rights === 'more' ? more : less;
      const tools = await toolsOf(alice, id, options);
      expect(tools).toContain(`${id}.common`);
      expect(tools.includes(`${id}.extra`)).toBe(rights === 'more');
      expect(await pageOf(alice, id, options)).toBe(`page for ${rights}`);
    }
    expectOnce(asked.map(([each, before]) => each.count('tools/list') - before));
    expect((await alice.call(`${id}.extra`, {}, more)).result['isError']).not.toBe(true);
    expect(
      (await alice.request('tools/call', { name: `${id}.extra`, arguments: {} }, less)).error,
    ).toBeDefined();
  });

  it.each(SERVERS)('what %s says of itself to one token is not told to the other', async (id) => {
    const { more, less } = await comesWith();
    await using first = await as(more);
    await first.names();
    await using lesser = await as(less);
    expect(JSON.stringify(lesser.hello)).not.toContain('for more');
    await lesser.names();
    for (const [options, told, untold] of [
      [more, 'for more', 'for less'],
      [less, 'for less', 'for more'],
    ] as const) {
      await using again = await as(options);
      expect(JSON.stringify(again.hello)).toContain(`${id} says this ${told}`);
      expect(JSON.stringify(again.hello)).not.toContain(untold);
    }
  });

  it.each(SERVERS)('a change of a list of %s for one token is told to that one', async (id) => {
    const { more, less } = await comesWith();
    await using greater = await as(more);
    await using lesser = await as(less);
    await greater.names();
    await lesser.names();
    await using much = await greater.listen({ tools: true, prompts: true });
    await using little = await lesser.listen({ tools: true, prompts: true });
    const name = `late-${times}`;
    await server(id, 'more').addTool(name);
    await server(id, 'more').notify('tools');
    await much.next(changed('tools'));
    expect(await toolsOf(greater, id)).toContain(`${id}.${name}`);
    // A fence: the first that the other one hears.
    await server(id, 'less').setList('prompts', ['brief', name]);
    await server(id, 'less').notify('prompts');
    await little.next(changed('prompts'));
    expect(count(little, changed('tools'))).toBe(0);
    expect(await toolsOf(lesser, id)).toEqual([`${id}.common`]);
  });

  it.each(SERVERS)(
    'an update of a resource of %s for one token is told to that one',
    async (id, serverEra) => {
      const { more, less } = await comesWith();
      await using greater = await as(more);
      await using lesser = await as(less);
      await greater.names();
      await lesser.names();
      const [page, other] = [`${id}://page`, `${id}://other`];
      const marks = RIGHTS.map((rights) => [server(id, rights), server(id, rights).mark()] as const);
      await using much = await greater.listen({ uris: [page, other] });
      await using little = await lesser.listen({ uris: [page, other] });
      for (const [each, after] of marks) {
        const wants = ({ params }: Recorded) => JSON.stringify(params).includes(other);
        const method = serverEra === 'modern' ? 'subscriptions/listen' : 'resources/subscribe';
        await each.untilReceived(method, wants, { after });
      }
      await server(id, 'more').notify({ updated: page });
      await much.next(UPDATED);
      await server(id, 'less').notify({ updated: other });
      expect(await little.next(UPDATED)).toMatchObject({ params: { uri: other } });
      expect([count(much, UPDATED), count(little, UPDATED)]).toEqual([1, 1]);
    },
  );

  describe.each([401, 403])('where the one for less is refused with %i', (status) => {
    it.each(SERVERS)('nothing of %s is seen with it any more, and all as ever with the other', async (id) => {
      const { more, less } = await comesWith();
      await using greater = await as(more);
      await using lesser = await as(less);
      expect(await toolsOf(greater, id)).toContain(`${id}.extra`);
      expect(await toolsOf(lesser, id)).toEqual([`${id}.common`]);
      await pageOf(lesser, id, less);
      refused.set('less', status);
      try {
        const call = await lesser.call(`${id}.common`);
        expect(call.result['isError']).toBe(true);
        expect(await toolsOf(lesser, id)).toEqual([]);
        if (status === 401) {
          await using again = await as(less);
          expect(JSON.stringify(again.hello)).not.toContain(`${id} says`);
        }
        expect((await lesser.request('resources/read', { uri: `${id}://page` })).error).toBeDefined();
        const walks = server(id, 'more').count('tools/list');
        expect(await toolsOf(greater, id)).toContain(`${id}.extra`);
        expect(await pageOf(greater, id, more)).toBe('page for more');
        // Another replica may not have read it yet.
        expect(server(id, 'more').count('tools/list') - walks).toBeLessThan(REPLICAS);
      } finally {
        refused.clear();
      }
    });
  });
});
