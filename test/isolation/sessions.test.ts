import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { headersOf } from '../e2e/access-world.ts';
import type { Agent } from '../kit/agent.ts';
import type { Exchange } from '../kit/http-exchange.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { secret } from './secrets.ts';
import { ABLE, startWorld, type User, type World } from './world.ts';

const CHANGED = 'notifications/tools/list_changed';
const ELICITATION = 'elicitation/create';
const isNoNotice = ({ method }: JsonObject) => !/^notifications\/\w+\/list_changed$/.test(String(method));
const accepted = (name: string) => ({ action: 'accept', content: { name } });

describe('sessions', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld(['team', 'mine', 'old', 'box', 'sess'], {
      config: { legacySse: { enabled: true } },
    });
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  const as = (user: User, path = '', options = {}) =>
    world.as(user, connectLegacy, path, { ...ABLE, ...options });

  /** The session id of one user in the hands of another, who signs in as usual. */
  const stolen = async (owner: Agent, thief: User, path = '') => {
    const agent = await as(thief, path, { greet: false });
    return { agent, headers: { 'mcp-session-id': owner.sessionId ?? '' } };
  };

  /** Everything that can be sent for a session. */
  const attempts = (
    agent: Agent,
    headers: Record<string, string>,
  ): Readonly<Record<string, () => Exchange['done']>> => ({
    request: () => agent.request('tools/list', {}, { headers }),
    call: () => agent.request('tools/call', { name: 'mine.note', arguments: {} }, { headers }),
    notification: () => agent.notify('notifications/cancelled', { requestId: 7 }, { headers }),
    roots: () => agent.notify('notifications/roots/list_changed', {}, { headers }),
    response: () => agent.post({ jsonrpc: '2.0', id: 1, result: {} }, headers),
    batch: () => agent.post([{ jsonrpc: '2.0', id: 1, method: 'tools/list' }], headers),
    stream: () => agent.http('GET', headers).done,
    end: () => agent.http('DELETE', headers).done,
  });

  it.each(['amy', 'bob'] as const)('of Alice are unknown to %s, and go on unharmed', async (thief) => {
    await using alice = await as('alice');
    await using heard = await alice.listen();
    const server = world.server('box');
    const running = alice.begin('tools/call', { name: 'box.slow', arguments: { label: thief } }, { id: 7 });
    await server.untilReceived(
      'tools/call',
      ({ params }) => objectAt(params, 'arguments')?.['label'] === thief,
    );
    const { agent, headers } = await stolen(alice, thief);
    const madeUp = { 'mcp-session-id': 'made-up' };
    for (const [what, attempt] of Object.entries(attempts(agent, headers))) {
      const answer = await attempt();
      const other = await attempts(agent, madeUp)[what]?.();
      expect([what, answer.status, answer.text]).toEqual([what, 404, other?.text]);
    }
    expect(await server.release(thief)).toBe(1);
    expect((await running.done).result).toMatchObject({ structuredContent: { done: true } });
    expect(await alice.names()).toContain('mine.note_of_alice');
    await world.server('mine', 'alice').notify('tools');
    expect(heard.all.filter(isNoNotice)).toEqual([]);
  });

  it.each(['/mine', '/near', '/team'])(
    'opened at one entrance are unknown at another: /mcp%s',
    async (path) => {
      await using alice = await as('alice');
      const { agent, headers } = await stolen(alice, 'alice', path);
      for (const [what, attempt] of Object.entries(attempts(agent, headers))) {
        expect([what, (await attempt()).status]).toEqual([what, 404]);
      }
      expect(await alice.names()).toContain('mine.note_of_alice');
    },
  );

  it('outlive a restart of the gateway for their owner alone', async () => {
    await using alice = await as('alice');
    await using bob = await as('bob');
    await world.gateway.restart();
    const { agent, headers } = await stolen(alice, 'bob');
    for (const [what, attempt] of Object.entries(attempts(agent, headers))) {
      expect([what, (await attempt()).status]).toEqual([what, 404]);
    }
    expect((await alice.call('mine.note')).text).toBe(secret('alice', 'mine call'));
    expect((await bob.call('old.note')).text).toBe(secret('bob', 'old call'));
  });

  it('of one user can be ended without a trace in those of another', async () => {
    await using alice = await as('alice');
    await using again = await as('alice');
    await using bob = await as('bob');
    await Promise.all([alice, again, bob].map((agent) => agent.call('sess.count')));
    expect((await alice.http('DELETE').done).status).toBe(204);
    expect((await alice.request('tools/list')).status).toBe(404);
    for (const agent of [again, bob]) {
      expect((await agent.call('sess.count')).structured).toEqual({ count: 2 });
    }
  });

  it('share no connection with those of another user to a server that does not know them', async () => {
    // The same client in every respect but who uses it.
    const agents = await Promise.all((['alice', 'amy', 'bob'] as const).map((user) => as(user)));
    for (const count of [1, 2]) {
      for (const agent of agents) {
        expect((await agent.call('box.count')).structured).toEqual({ count });
      }
    }
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });

  describe('questions of servers', () => {
    it.each(['box', 'sess'] as const)(
      'of %s come to the client that called, and nobody else can answer',
      async (id) => {
        let open = (_: JsonObject) => {};
        let answer = (_: JsonObject) => {};
        const asked = new Promise<JsonObject>((resolve) => {
          open = resolve;
        });
        const answered = new Promise<JsonObject>((resolve) => {
          answer = resolve;
        });
        const message = secret('alice', `${id} question`);
        await using alice = await as('alice', '', {
          answers: {
            [ELICITATION]: (params: JsonObject) => {
              open(params);
              return answered;
            },
          },
        });
        await using bob = await as('bob', '', { answers: { [ELICITATION]: () => accepted('Bob') } });
        await using amy = await as('amy');
        await using bobs = await bob.listen();
        const params = { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } };
        const running = alice.begin('tools/call', { name: `${id}.ask`, arguments: { params } });
        const question = await running.next(ELICITATION);
        expect(await asked).toEqual(params);
        // Those who guess its id answer it in their own session, and in hers.
        const forged = { jsonrpc: '2.0', id: question['id'], result: accepted('Mallory') };
        for (const thief of [bob, amy]) {
          const own = { 'mcp-session-id': thief.sessionId ?? '' };
          expect((await thief.post(forged, own)).status).toBe(202);
          const hers = { 'mcp-session-id': alice.sessionId ?? '' };
          expect((await thief.post(forged, hers)).status).toBe(404);
        }
        // Bob has a question of his own meanwhile.
        const his = await bob.call(`${id}.ask`);
        expect(his.structured).toEqual({ answers: [{ result: accepted('Bob') }] });
        answer(accepted('Alice'));
        expect((await running.done).result).toMatchObject({
          structuredContent: { answers: [{ result: accepted('Alice') }] },
        });
        expect(bobs.all.filter((message) => 'id' in message)).toEqual([]);
      },
    );
  });

  describe('broken streams', () => {
    it('are taken up again by their own session alone', async () => {
      await using alice = await as('alice');
      const call = alice.begin(
        'tools/call',
        { name: 'mine.progress', arguments: {} },
        { progressToken: 'p' },
      );
      const { events } = await call.done;
      const ids = events.flatMap(({ id }) => (id === undefined ? [] : [id]));
      expect(ids.length).toBeGreaterThan(2);
      const again = await alice.http('GET', { 'last-event-id': ids[0] ?? '' }).done;
      expect(again.messages).toHaveLength(4);
      for (const thief of ['amy', 'bob'] as const) {
        await using agent = await as(thief);
        await agent.names();
        for (const lastEvent of [ids[0], ids.at(-1)]) {
          const stream = agent.http('GET', { 'last-event-id': lastEvent ?? '' });
          // Her finished stream would be over, or tell the rest; theirs is a new one, and goes on.
          expect((await stream.opened).status).toBe(200);
          const server = world.server('mine', thief);
          await server.addTool(`more_${server.mark()}`);
          await server.notify('tools');
          await stream.next(CHANGED);
          expect(stream.messages.filter(isNoNotice)).toEqual([]);
          stream.abort();
        }
      }
      // Another session of her own is another session.
      await using other = await as('alice');
      await other.names();
      const stream = other.http('GET', { 'last-event-id': ids[0] ?? '' });
      expect((await stream.opened).status).toBe(200);
      await world.server('mine', 'alice').addTool('more_of_hers');
      await world.server('mine', 'alice').notify('tools');
      await stream.next(CHANGED);
      expect(stream.messages.filter(isNoNotice)).toEqual([]);
      stream.abort();
    });
  });

  describe('of the 2024-11-05 transport', () => {
    it('take messages of their own user alone', async () => {
      const open = async (user: User) => {
        const agent = await connectLegacy(`${world.gateway.origin}/sse`, {
          headers: headersOf(user),
          greet: false,
        });
        const stream = agent.http('GET', { accept: 'text/event-stream' });
        await stream.opened;
        return { agent, stream };
      };
      const reply = await fetch(`${world.gateway.origin}/sse`, {
        headers: { ...headersOf('alice'), accept: 'text/event-stream' },
      });
      const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
      const address = /data: (\S+)/.exec((await reader?.read())?.value ?? '')?.[1] ?? '';
      expect(address).toContain('sessionId=');
      const post = async (user: User, url: string) => {
        const answer = await fetch(new URL(url, world.gateway.origin), {
          method: 'POST',
          headers: { ...headersOf(user), 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: user, method: 'ping' }),
        });
        return [answer.status, await answer.text()];
      };
      const { agent, stream } = await open('bob');
      expect((await post('bob', address))[0]).toBe(404);
      expect((await post('amy', address))[0]).toBe(404);
      expect((await post('alice', address))[0]).toBe(202);
      expect((await reader?.read())?.value).toContain('"id":"alice"');
      stream.abort();
      await reader?.cancel();
      await agent[Symbol.asyncDispose]();
    });
  });

  it('nobody has ever received anything of somebody else', () => {
    const { alice, bob } = world.sweep();
    expect(alice).toEqual(
      expect.arrayContaining(['mine call', 'mine progress', 'box question', 'sess question']),
    );
    expect(bob).toEqual(expect.arrayContaining(['old call', 'mine tool']));
  });
});
