import { describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import type { Recorded } from '../kit/recorder.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { authFor, connectAs, told } from './access-world.ts';

/** Resources under rules: read, completed, watched. */

const ANYONE = { anyone: true };

/** What a scripted server answers to a read of a resource that it does not list. */
const page = (words: string): JsonObject => ({ contents: [{ uri: 'any', text: words }] });

async function text(agent: Agent, uri: string): Promise<string> {
  const { contents } = await agent.result('resources/read', { uri });
  return String((contents as JsonObject[])[0]?.['text']);
}

describe.each(AGENTS)('resources, for a $era client', ({ connect, era }) => {
  const UNKNOWN = era === 'legacy' ? -32002 : -32602;

  it('a URI is judged as its server knows it, however it was found', async () => {
    await using one = await startHttpUpstream({
      id: 'one',
      tools: ['links'],
      resources: ['doc://open', 'doc://shut'],
      templates: ['doc://{name}'],
      readResults: { 'odd://open/1': page('odd://open/1 of one') },
      calls: {
        links: {
          does: 'raw',
          result: {
            content: [
              { type: 'resource_link', uri: 'odd://shut/1', name: 'shut' },
              { type: 'resource_link', uri: 'odd://open/1', name: 'open' },
            ],
          },
        },
      },
    });
    await using two = await startHttpUpstream({ id: 'two', resources: ['doc://open', 'doc://shut'] });
    await using gateway = await startGateway({
      access: [{ who: ANYONE, deny: ['one.*://shut*', 'two.doc://open'], allow: ['*'] }],
      upstreams: { one: one.config, two: two.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    // The second owner carries its id, and keeps it, whether the first one may be seen or not.
    expect(await agent.names('resources')).toEqual(['doc://open', 'doc://two!shut']);
    expect(await text(agent, 'doc://open')).toBe('doc://open of one');
    expect(await text(agent, 'doc://two!shut')).toBe('doc://shut of two');
    expect(await text(agent, 'doc://by-template')).toBe('doc://by-template of one');
    await agent.call('one.links');
    expect(await text(agent, 'odd://open/1')).toBe('odd://open/1 of one');
    const marks = [one.mark(), two.mark()] as const;
    const shut = [
      'doc://shut',
      'doc://two!open',
      'doc://shut-by-template',
      'odd://shut/1',
      'odd://never-seen',
    ];
    const answers = await Promise.all(shut.map((uri) => agent.request('resources/read', { uri })));
    for (const [at, uri] of shut.entries()) {
      expect(answers[at]?.error, uri).toMatchObject({ code: UNKNOWN, data: { uri } });
    }
    expect(new Set(answers.map((answer) => told(answer, ...shut))).size).toBe(1);
    const reads = [...one.received.slice(marks[0]), ...two.received.slice(marks[1])];
    expect(reads.filter(({ method }) => method === 'resources/read')).toEqual([]);
    const logged = gateway.logged.filter((line) => line['reason'] === 'forbidden');
    // Whose it is, and no more of a client's own text than the scheme.
    expect(logged.map((line) => line['name'])).toEqual(logged.map(() => 'doc:…'));
    expect(logged.map((line) => line['upstream']).toSorted()).toEqual(['one', 'one', 'two']);
  });

  it('the only server with resources is asked about any URI that rules allow of it', async () => {
    await using only = await startHttpUpstream({
      id: 'only',
      hints: { ttlMs: 60_000, cacheScope: 'public' },
      resources: ['doc://a'],
      readResults: { 'doc://unlisted': page('unlisted'), 'doc://b': page('its own b') },
    });
    await using hidden = await startHttpUpstream({ id: 'hidden', resources: ['doc://b'] });
    await using gateway = await startGateway({
      access: [{ who: ANYONE, allow: ['only.doc://*'] }],
      upstreams: { hidden: hidden.config, only: only.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    expect(await text(agent, 'doc://unlisted')).toBe('unlisted');
    const read = await agent.result('resources/read', { uri: 'doc://a' });
    expect(read['cacheScope']).toBe(era === 'modern' ? 'private' : undefined);
    // That another server, of which nothing may be seen, has it makes no difference.
    expect(await text(agent, 'doc://b')).toBe('its own b');
    expect((await agent.request('resources/read', { uri: 'other://x' })).error?.code).toBe(UNKNOWN);
    expect(hidden.count('resources/read')).toBe(0);
    await using alone = await connect(`${gateway.origin}/mcp/only`);
    expect((await alone.request('resources/read', { uri: 'other://x' })).error?.code).toBe(UNKNOWN);
    expect(only.received.some(({ params }) => params['uri'] === 'other://x')).toBe(false);
  });

  it('a template that may not be seen cannot be completed', async () => {
    await using up = await startHttpUpstream({ id: 'up', templates: ['open://{x}', 'shut://{x}'] });
    await using gateway = await startGateway({
      access: [{ who: ANYONE, deny: ['up.shut://*'], allow: ['*'] }],
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    const complete = (uri: string) =>
      agent.request('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'x', value: '' },
      });
    expect((await complete('open://{x}')).result).toHaveProperty('completion');
    expect((await complete('shut://{x}')).error?.data).toMatchObject({ code: 'URI_UNKNOWN' });
    expect(up.count('completion/complete')).toBe(1);
  });

  it('what needs a scope is not read, completed or watched without it', async () => {
    await using up = await startHttpUpstream({
      id: 'up',
      prompts: ['ask'],
      resources: ['doc://a'],
      templates: ['doc://{x}'],
      capabilities: { resources: { subscribe: true } },
    });
    await using gateway = await startGateway({
      access: [{ who: ANYONE, allow: ['*'], scopes: ['deep', 'wide'] }],
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    expect(await agent.names('resources')).toEqual(['doc://a']);
    const argument = { name: 'x', value: '' };
    const requests: [string, JsonObject][] = [
      ['resources/read', { uri: 'doc://a' }],
      ['resources/read', { uri: 'doc://other' }],
      ['prompts/get', { name: 'up.ask' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'up.ask' }, argument }],
      ['completion/complete', { ref: { type: 'ref/resource', uri: 'doc://{x}' }, argument }],
      ...(era === 'legacy'
        ? [['resources/subscribe', { uri: 'doc://a' }] satisfies [string, JsonObject]]
        : []),
    ];
    const mark = up.mark();
    for (const [method, params] of requests) {
      const { status, error } = await agent.request(method, params);
      expect([status, objectAt(error, 'data')?.['requiredScopes']], method).toEqual([403, ['deep', 'wide']]);
    }
    expect(
      up.received.slice(mark).filter(({ method }) => requests.some(([each]) => each === method)),
    ).toEqual([]);
  });
});

describe('updates of resources', () => {
  it.each(AGENTS)('are told only of what may be seen, to a $era client', async ({ connect, era }) => {
    const parts = ['doc://a/open/1', 'doc://a/secret/2'];
    await using up = await startHttpUpstream({
      id: 'up',
      resources: ['doc://a', 'doc://b', ...parts],
      capabilities: { resources: { subscribe: true } },
    });
    await using gateway = await startGateway({
      auth: authFor({ root: { groups: ['admin'] }, ann: {} }),
      access: [
        { who: { groups: ['admin'] }, allow: ['*'] },
        { who: ANYONE, deny: ['up.doc://b', 'up.doc://a/secret*'], allow: ['*'] },
      ],
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    // Somebody who may hears of every part, so the server tells of them.
    await using root = await connectAs(connectModern, 'root', gateway.url);
    await using all = await root.listen({ uris: parts });
    await using ann = await connectAs(connect, 'ann', gateway.url);
    await using heard = await ann.listen(
      era === 'legacy' ? {} : { uris: ['doc://a', 'doc://b', 'doc://a/secret/2'] },
    );
    if (era === 'legacy') {
      await ann.result('resources/subscribe', { uri: 'doc://a' });
      const answers = await Promise.all(
        ['doc://b', 'doc://a/secret/2'].map((uri) => ann.request('resources/subscribe', { uri })),
      );
      expect(answers.map(({ error }) => error?.code)).toEqual([-32002, -32002]);
    } else {
      expect(heard.acknowledged?.['notifications']).toEqual({ resourceSubscriptions: ['doc://a'] });
    }
    const watching = ({ params }: Recorded) =>
      ['doc://a', ...parts].every((uri) => JSON.stringify(params).includes(`"${uri}"`));
    await up.untilReceived('subscriptions/listen', watching);
    await up.untilListening();
    await up.notify({ updated: 'doc://a/secret/2' });
    await all.next(isUpdate);
    await up.notify({ updated: 'doc://a/open/1' });
    expect(objectAt(await heard.next(isUpdate), 'params')?.['uri']).toBe('doc://a/open/1');
  });
});

const isUpdate = (message: JsonObject) => message['method'] === 'notifications/resources/updated';
