import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, stringAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import type { Doorkeeper } from '../kit/gate.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startTokenIssuer, type TokenIssuer } from '../kit/token-issuer.ts';
import { startTokenServer, type TokenServer } from '../kit/token-server.ts';
import { expectOnce } from './replicas.ts';
import { foreignIn, PEOPLE, type Person, secret } from './secrets.ts';
import { serverOf } from './servers.ts';
import { byUser, startWorld, type User, type World } from './world.ts';

/** Users who sign in with tokens, and servers that each of them is let in to with a token in exchange. */

const USERS = ['alice', 'amy', 'bob'] as const;
const EXCHANGED = [
  ['newer', 'modern'],
  ['older', 'legacy'],
] as const;
const AUDIENCE = 'gateway';

let issuer: TokenIssuer;
let tokens: TokenServer;
let world: World;
/** Every token that somebody signed in with. */
const used: string[] = [];
/** The token that each of them comes with. */
const current = new Map<Person, string>();
const scope = new AsyncDisposableStack();

async function tokenOf(person: Person, groups: readonly string[] = PEOPLE[person].groups): Promise<string> {
  const token = await issuer.token(AUDIENCE, { claims: { sub: person, groups } });
  tokens.trust(token, person);
  used.push(token);
  return token;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

beforeAll(async () => {
  issuer = scope.use(await startTokenIssuer());
  tokens = scope.use(await startTokenServer());
  for (const person of Object.keys(PEOPLE) as Person[]) {
    current.set(person, await tokenOf(person));
  }
  const who: Doorkeeper = ({ authorization = '' }) =>
    tokens.whois(authorization.slice('Bearer '.length))?.subject ?? 401;
  const { clientId, clientSecret } = tokens;
  const credentials = { type: 'tokenExchange', issuer: tokens.issuer, clientId, clientSecret };
  world = scope.use(
    await startWorld(['team'], {
      config: { lists: { pageSize: 2 } },
      signIn: {
        auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, audience: [AUDIENCE], clockTolerance: '0s' } },
        headersOf: (person) => ({ authorization: `Bearer ${current.get(person)}` }),
        credentials: () => [...used, clientSecret],
        granted: () => tokens.tokens,
      },
      upstreams: Object.fromEntries(
        EXCHANGED.map(([id, era]) => [
          id,
          byUser((user) => serverOf(id, user, era), who, {
            credentials,
            restart: { base: '20ms', cap: '50ms' },
          }),
        ]),
      ),
    }),
  );
});

afterAll(() => scope.disposeAsync());

const as = (user: User, connect = connectModern, path = '') => world.as(user, connect, path);

describe.each(AGENTS)('of $era clients', ({ connect }) => {
  it('who come at once each sees and gets what is theirs, over and over', async () => {
    await Promise.all(
      [...USERS, ...USERS, ...USERS].map(async (user) => {
        await using agent = await as(user, connect);
        const lists = await Promise.all([
          agent.list('tools'),
          agent.list('resources'),
          agent.list('prompts'),
        ]);
        expect(foreignIn(lists, user)).toEqual([]);
        for (const [id] of EXCHANGED) {
          expect(JSON.stringify(lists)).toContain(secret(user, `${id} tool`));
          expect((await agent.call(`${id}.note`)).text).toBe(secret(user, `${id} call`));
          const read = await agent.result('resources/read', { uri: `${id}://same` });
          expect(JSON.stringify(read)).toContain(secret(user, `${id} read`));
        }
      }),
    );
  });
});

it('each token stands for its own user, in whatever order they come', async () => {
  // Not through anybody's pipe: it is everybody's client.
  await using agent = await connectModern(world.gateway.url, bearer(current.get('amy') ?? ''));
  for (const user of ['bob', 'alice', 'amy', 'bob', 'alice'] as const) {
    const asUser = bearer(current.get(user) ?? '');
    const { tools } = await agent.result('tools/list', {}, asUser);
    const { text } = await agent.call('newer.note', {}, asUser);
    expect(foreignIn([tools, text], user)).toEqual([]);
    expect(text).toBe(secret(user, 'newer call'));
  }
});

it('servers are reached with a token of the calling user, got once for each', () => {
  for (const [id] of EXCHANGED) {
    const seen = world.gate(id).knocks.map(({ user, headers, body }) => {
      expect(foreignIn(body, 'ops')).toEqual([]);
      const subject = tokens.whois(String(headers.authorization).slice('Bearer '.length))?.subject;
      expect(subject).toBe(user);
      return user;
    });
    expect([...new Set(seen)].toSorted()).toEqual([...USERS]);
  }
  const asked = tokens.requests.map(({ params }) => params['subject_token']);
  expect(asked).toHaveLength(USERS.length * EXCHANGED.length);
  expect(new Set(asked).size).toBe(USERS.length);
});

it('a token for a server opens nothing here, and two tokens open nothing at all', async () => {
  const post = (headers: [string, string][]) =>
    fetch(world.gateway.url, {
      method: 'POST',
      headers: [
        ['content-type', 'application/json'],
        ['accept', 'application/json, text/event-stream'],
        ...headers,
      ],
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
  for (const token of tokens.tokens) {
    expect((await post([['authorization', `Bearer ${token}`]])).status).toBe(401);
  }
  const both = await post([
    ['authorization', `Bearer ${current.get('bob')}`],
    ['x-api-key', String(current.get('alice'))],
  ]);
  expect(both.status).toBe(400);
});

describe('a user who comes again with a token for less', () => {
  it('sees less, and cannot go on with a walk that began with more', async () => {
    const lesser = bearer(await tokenOf('alice', []));
    for (const connect of [connectLegacy, connectModern]) {
      await using alice = await as('alice', connect, '/team');
      const { nextCursor: cursor } = await alice.result('tools/list');
      expect(cursor).toBeTypeOf('string');
      expect((await alice.request('tools/list', { cursor }, lesser)).status).not.toBe(500);
      expect((await alice.request('tools/list', { cursor }, lesser)).error?.code).toBe(-32602);
      const { tools } = await alice.result('tools/list', {}, lesser);
      expect(JSON.stringify(tools)).not.toContain('red_tool');
      for (const [method, params] of [
        ['tools/call', { name: 'team.red_tool', arguments: {} }],
        ['prompts/get', { name: 'team.red_brief' }],
        ['resources/read', { uri: 'team://red' }],
      ] as [string, JsonObject][]) {
        expect((await alice.request(method, params, lesser)).error, method).toBeDefined();
      }
      expect(await alice.result('tools/list', { cursor })).toHaveProperty('tools');
    }
  });

  it('reaches servers with a token of its own', async () => {
    const token = await tokenOf('alice', ['other']);
    await using alice = await as('alice');
    const before = tokens.requests.length;
    await alice.call('newer.note', {}, bearer(token));
    const asked = tokens.requests.slice(before).map(({ params }) => params['subject_token']);
    expect(asked).toEqual([token]);
  });

  it('is not served what a server answered to the token for more', async () => {
    const lesser = bearer(await tokenOf('alice', ['fewer']));
    await using alice = await as('alice');
    const uri = 'newer://other';
    const server = world.server('newer', 'alice');
    const ask = (options = {}) => alice.result('resources/read', { uri }, options);
    await ask();
    const [reads, lists] = ['resources/read', 'tools/list'].map((method) => server.count(method));
    await ask(lesser);
    await alice.result('tools/list', {}, lesser);
    expectOnce([server.count('resources/read') - (reads ?? 0), server.count('tools/list') - (lists ?? 0)]);
  });
});

describe('a user whom a server refuses', () => {
  it.each(EXCHANGED)('sees nothing of %s any more; others are as well as ever', async (id) => {
    await using amy = await as('amy');
    await using bob = await as('bob');
    await amy.call(`${id}.note`);
    world.gate(id).guardedBy(({ authorization = '' }) => {
      const user = tokens.whois(authorization.slice('Bearer '.length))?.subject ?? 401;
      return user === 'amy' ? 401 : user;
    });
    const refused = await amy.call(`${id}.note`);
    expect(refused.result['isError']).toBe(true);
    expect(refused.text).toContain(`[${id}]`);
    expect(foreignIn(refused.text, 'ops')).toEqual([]);
    await expect.poll(() => amy.names()).not.toContain(`${id}.note_of_amy`);
    expect((await bob.call(`${id}.note`)).text).toBe(secret('bob', `${id} call`));
    expect(await bob.names()).toContain(`${id}.note_of_bob`);
  });

  it('is told what to do, and nobody is told what the authorization server said', async () => {
    const token = await issuer.token(AUDIENCE, { claims: { sub: 'alice', groups: ['unknown there'] } });
    used.push(token);
    await using alice = await as('alice');
    const answer = await alice.request('tools/call', { name: 'newer.note', arguments: {} }, bearer(token));
    expect(stringAt(answer.result?.['content'], '0') ?? answer.text).not.toContain(token);
    await using bob = await as('bob');
    expect((await bob.call('newer.note')).text).toBe(secret('bob', 'newer call'));
  });
});

it('nobody has ever received anything of somebody else', () => {
  const found = world.sweep();
  const places = EXCHANGED.flatMap(([id]) => ['tool', 'call', 'read'].map((place) => `${id} ${place}`));
  for (const user of USERS) {
    expect(found[user]).toEqual(expect.arrayContaining([...places, 'team tool']));
  }
});
