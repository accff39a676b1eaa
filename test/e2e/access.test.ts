import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { authFor, connectAs, headersOf, told } from './access-world.ts';

const hinted = (name: string, annotations: JsonObject) => ({
  name,
  inputSchema: { type: 'object' },
  annotations,
});

const PEOPLE = {
  ann: { groups: ['eng'] },
  bob: { groups: ['sales'] },
  eve: { groups: ['eng'], scopes: ['write'] },
  root: { groups: ['admin'] },
  nobody: {},
};

const RULES = [
  { who: { groups: ['admin'] }, allow: ['*'] },
  { who: { anyone: true }, deny: ['*'], where: { destructive: true } },
  { who: { groups: ['eng'] }, allow: ['hub.write'], scopes: ['write'] },
  { who: { groups: ['eng'] }, allow: ['files.*', 'hub.*'] },
  {
    who: { groups: ['sales'] },
    allow: ['tool:files.read', 'prompt:files.*', 'resource:files.file:///public/*', 'people.find'],
  },
];

describe('rules', () => {
  let files: ScriptedUpstream;
  let hub: ScriptedUpstream;
  let people: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    files = await startStdioUpstream({
      id: 'files',
      instructions: 'Of files.',
      tools: ['read', hinted('wipe', { destructiveHint: true })],
      prompts: ['ask'],
      resources: ['file:///public/a', 'file:///private/b'],
      templates: ['file:///public/{name}', 'file:///private/{name}'],
    });
    hub = await startHttpUpstream({
      id: 'hub',
      instructions: 'Of the hub.',
      tools: ['read', 'write', hinted('drop', { destructiveHint: true })],
      prompts: ['ask'],
      hints: { ttlMs: 60_000, cacheScope: 'public' },
    });
    people = await startHttpUpstream({ id: 'people', instructions: 'Of people.', tools: ['find', 'fire'] });
    gateway = await startGateway({
      auth: authFor(PEOPLE),
      access: RULES,
      views: { all: { instructions: 'All.' }, reading: { include: ['*.read'] } },
      upstreams: {
        files: files.config,
        hub: { ...hub.config, trust: { annotations: true } },
        people: people.config,
      },
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all([files, hub, people].map((up) => up?.[Symbol.asyncDispose]()));
  });

  const calls = () => files.count('tools/call') + hub.count('tools/call') + people.count('tools/call');
  /** What the log says of the last name that led nowhere. */
  const reason = (name: string) =>
    gateway.logged.findLast((line) => line['name'] === name && line['reason'] !== undefined);

  describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
    const as = (id: string, path = '') => connectAs(connect, id, `${gateway.origin}/mcp${path}`);

    it.each([
      // Hints of `files` are not believed, so its `wipe` is as good as any other tool; the one of `hub` is.
      ['ann', ['files.read', 'files.wipe', 'hub.read', 'hub.write']],
      ['bob', ['files.read', 'people.find']],
      [
        'root',
        ['files.read', 'files.wipe', 'hub.read', 'hub.write', 'hub.drop', 'people.find', 'people.fire'],
      ],
    ])('%s sees the tools that some rule allows', async (id, expected) => {
      await using agent = await as(id);
      expect(await agent.names()).toEqual(expected);
      await using strict = await as(id, '?names=strict');
      expect(await strict.names()).toEqual(expected.map((name) => name.replace('.', '__')));
    });

    it('prompts, resources and templates go by the same rules', async () => {
      await using bob = await as('bob');
      expect(await bob.names('prompts')).toEqual(['files.ask']);
      expect(await bob.names('resources')).toEqual(['file:///public/a']);
      expect(await bob.names('templates')).toEqual(['file:///public/{name}']);
      await using ann = await as('ann');
      expect(await ann.names('prompts')).toEqual(['files.ask', 'hub.ask']);
      expect(await ann.names('resources')).toEqual(['file:///public/a', 'file:///private/b']);
    });

    it('what may be listed may be called, and reaches its server under its own name', async () => {
      await using bob = await as('bob');
      expect((await bob.call('files.read', { n: 1 })).structured).toEqual({ n: 1 });
      expect((await bob.call('people__find', { n: 2 })).structured).toEqual({ n: 2 });
      expect(await bob.result('prompts/get', { name: 'files.ask' })).toHaveProperty('messages');
    });

    it.each([
      ['a tool of a server of which something may be seen', 'bob', 'files.wipe', 'files.wipX'],
      ['a tool of a server of which nothing may be seen', 'bob', 'hub.read', 'hub.reaX'],
      ['under its strict name', 'bob', 'hub__read', 'hub__reaX'],
      ['a tool whose hints decide', 'ann', 'hub.drop', 'hub.droX'],
    ])('C-002: forbidden is like unknown: %s', async (_what, id, forbidden, unknown) => {
      await using agent = await as(id);
      const before = calls();
      const one = await agent.request('tools/call', { name: forbidden, arguments: {} });
      const other = await agent.request('tools/call', { name: unknown, arguments: {} });
      expect(told(one, forbidden)).toBe(told(other, unknown));
      expect(one.error).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
      expect(calls()).toBe(before);
      expect(reason(forbidden)).toMatchObject({ reason: 'forbidden', principal: id });
      expect(reason(unknown)).toMatchObject({ reason: 'unknown', principal: id });
    });

    it('a forbidden prompt is unknown, to read and to complete', async () => {
      await using bob = await as('bob');
      const get = (name: string) => bob.request('prompts/get', { name });
      expect(told(await get('hub.ask'), 'hub.ask')).toBe(told(await get('hub.asX'), 'hub.asX'));
      const complete = (name: string) =>
        bob.request('completion/complete', {
          ref: { type: 'ref/prompt', name },
          argument: { name: 'topic', value: '' },
        });
      expect(told(await complete('hub.ask'), 'hub.ask')).toBe(told(await complete('hub.asX'), 'hub.asX'));
      expect(reason('hub.ask')).toMatchObject({ reason: 'forbidden', principal: 'bob', kind: 'prompts' });
    });

    it('capabilities and instructions are those of the servers of which something may be seen', async () => {
      await using ann = await as('ann');
      expect(ann.hello['instructions']).toBe('## files\nOf files.\n\n## hub\nOf the hub.');
      await using bob = await as('bob', '/all');
      expect(bob.hello['instructions']).toBe('All.\n\n## files\nOf files.\n\n## people\nOf people.');
      await using nobody = await as('nobody');
      expect(nobody.hello['instructions']).toBeUndefined();
      expect(nobody.hello['capabilities']).toEqual({});
      expect((await nobody.request('tools/list')).error?.code).toBe(-32601);
    });

    it('rules hold in every view, and a view shows no more than they allow', async () => {
      await using bob = await as('bob', '/all');
      expect(await bob.names()).toEqual(['files.read', 'people.find']);
      await using ann = await as('ann', '/reading');
      expect(await ann.names()).toEqual(['files.read', 'hub.read']);
      expect((await ann.request('tools/call', { name: 'hub.write', arguments: {} })).error?.code).toBe(
        -32602,
      );
    });

    it('a server of which nothing may be seen has no endpoint; of another one the allowed part is there', async () => {
      const knock = async (id: string, path: string) => {
        const answer = await fetch(`${gateway.origin}/mcp/${path}`, {
          method: 'POST',
          headers: {
            ...headersOf(id),
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: '{}',
        });
        return [answer.status, await answer.text()];
      };
      expect(await knock('ann', 'people')).toEqual(await knock('ann', 'nothing'));
      expect((await knock('ann', 'people'))[0]).toBe(404);
      await using bob = await as('bob', '/people');
      expect(await bob.names()).toEqual(['find']);
      expect((await bob.request('tools/call', { name: 'fire', arguments: {} })).error?.code).toBe(-32602);
    });

    it('what needs a scope is listed, and refused to whoever lacks it, with all that it needs', async () => {
      await using ann = await as('ann');
      expect(await ann.names()).toContain('hub.write');
      const before = calls();
      const refused = await ann.request('tools/call', { name: 'hub.write', arguments: {} }, { id: 'mine' });
      expect(refused.status).toBe(403);
      expect(refused.headers['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="write"');
      expect(JSON.parse(refused.text)).toMatchObject({
        id: 'mine',
        error: { code: -32600, data: { code: 'SCOPE_INSUFFICIENT', requiredScopes: ['write'] } },
      });
      expect(calls()).toBe(before);
      await using eve = await as('eve');
      expect((await eve.call('hub.write', { n: 1 })).structured).toEqual({ n: 1 });
    });

    it('lists that rules have cut to size are nobody else’s to keep', async () => {
      await using ann = await as('ann', '/hub');
      const list = await ann.result('tools/list');
      expect(list['cacheScope']).toBe(era === 'modern' ? 'private' : undefined);
    });
  });

  it('a session is not somebody else’s, whatever they may see', async () => {
    const [{ connect }] = AGENTS as [(typeof AGENTS)[number]];
    await using ann = await connectAs(connect, 'ann', gateway.url);
    const stolen = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        ...headersOf('root'),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': ann.sessionId ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(stolen.status).toBe(404);
  });
});

describe.each(AGENTS)('without sign-in, for a $era client', ({ connect }) => {
  it('rules for anyone hold for everybody', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['a', 'b'] });
    await using gateway = await startGateway({
      access: [{ who: { anyone: true }, deny: ['up.b'], allow: ['*'] }],
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    expect(await agent.names()).toEqual(['up.a']);
    expect((await agent.request('tools/call', { name: 'up.b', arguments: {} })).error?.code).toBe(-32602);
  });

  it('hints that are read anew before a call is made again are judged anew', async () => {
    await using up = await startHttpUpstream({
      id: 'up',
      era: 'modern',
      tools: [hinted('act', { destructiveHint: false })],
      calls: { act: { does: 'echo' } },
      faults: [
        {
          on: 'tools/call',
          times: 1,
          do: { error: { code: -32020, message: 'Header mismatch' }, status: 400 },
        },
      ],
    });
    await using gateway = await startGateway({
      access: [
        { who: { anyone: true }, deny: ['*'], where: { destructive: true } },
        { who: { anyone: true }, allow: ['*'] },
      ],
      upstreams: { up: { ...up.config, trust: { annotations: true } } },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    expect(await agent.names()).toEqual(['up.act']);
    await up.setTools([hinted('act', { destructiveHint: true })]);
    const { error } = await agent.request('tools/call', { name: 'up.act', arguments: {} });
    expect(error).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
    expect(objectAt(error, 'data')).not.toHaveProperty('upstream');
    expect(up.count('tools/call')).toBe(1);
  });
});
