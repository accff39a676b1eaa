import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { CLOSED } from '../fixtures/upstreams/scripted-peer.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const README = 'file:///README.md';
const updated = (uri: string) => (message: JsonObject) =>
  message['method'] === 'notifications/resources/updated' && objectAt(message, 'params')?.['uri'] === uri;

/** Who served a resource, by the text of the scripted server. */
async function reading(agent: Agent, uri: string): Promise<string> {
  const result = await agent.result('resources/read', { uri });
  const [content] = result['contents'] as JsonObject[];
  return String(content?.['text']);
}

describe.each([{ order: ['one', 'two'] }, { order: ['two', 'one'] }])(
  'C-073: one URI of two servers, $order',
  ({ order }) => {
    const [first = '', second = ''] = order;
    const renamed = `file://${second}!/README.md`;
    const template = 'file:///{name}.md';
    let ups: Record<string, ScriptedUpstream>;
    let gateway: StartedGateway;

    beforeAll(async () => {
      const script = (id: string): Script => ({
        id,
        tools: ['links', 'echo'],
        resources: [{ uri: README, name: `readme of ${id}`, mimeType: `text/${id}` }, `${id}://x`],
        templates: [{ uriTemplate: template, name: 'pages' }],
        calls: {
          links: {
            does: 'raw',
            result: {
              content: [
                { type: 'resource_link', uri: README, name: 'readme' },
                { type: 'resource', resource: { uri: README, text: `embedded in ${id}` } },
                { type: 'resource_link', uri: `${id}://x`, name: 'x' },
              ],
            },
          },
        },
      });
      ups = {
        one: await startHttpUpstream(script('one')),
        two: await startStdioUpstream(script('two')),
      };
      gateway = await startGateway({
        upstreams: Object.fromEntries(order.map((id) => [id, ups[id]?.config])),
      });
      await gateway.gateway.settled();
      await Promise.all(Object.values(ups).map((up) => up.untilListening()));
    });

    afterAll(async () => {
      await gateway?.close();
      await Promise.all(Object.values(ups ?? {}).map((up) => up[Symbol.asyncDispose]()));
    });

    describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
      it('the first in the configuration keeps it, the other carries its id; both read back right', async () => {
        await using agent = await connect(gateway.url);
        expect((await agent.list('resources')).map(({ uri, mimeType }) => [uri, mimeType])).toEqual([
          [README, `text/${first}`],
          [`${first}://x`, 'text/plain'],
          [renamed, `text/${second}`],
          [`${second}://x`, 'text/plain'],
        ]);
        expect(await reading(agent, README)).toBe(`${README} of ${first}`);
        expect(await reading(agent, renamed)).toBe(`${README} of ${second}`);
        expect(await reading(agent, 'two://x')).toBe('two://x of two');
        const { contents } = (await agent.result('resources/read', { uri: renamed })) as {
          contents: JsonObject[];
        };
        expect(contents[0]?.['uri']).toBe(renamed);
      });

      it('templates and completion follow the same rule', async () => {
        await using agent = await connect(gateway.url);
        const [plain, marked] = await agent.names('templates');
        expect([plain, marked]).toEqual([template, `file://${second}!/{name}.md`]);
        expect(await reading(agent, 'file:///other.md')).toBe(`file:///other.md of ${first}`);
        expect(await reading(agent, `file://${second}!/other.md`)).toBe(`file:///other.md of ${second}`);
        for (const [uri, id] of [
          [plain, first],
          [marked, second],
        ]) {
          const up = ups[id ?? ''];
          const after = up?.mark() ?? 0;
          const ref = { type: 'ref/resource', uri };
          await agent.result('completion/complete', { ref, argument: { name: 'name', value: 'o' } });
          const asked = await up?.untilReceived('completion/complete', undefined, { after });
          expect(asked?.params['ref']).toMatchObject({ uri: template });
        }
      });

      it('links and embedded resources in results lead back to their own server', async () => {
        await using agent = await connect(gateway.url);
        for (const id of [first, second]) {
          const { result } = await agent.call(`${id}.links`);
          const [link, embedded, own] = result['content'] as JsonObject[];
          const exposed = id === first ? README : renamed;
          expect([link?.['uri'], objectAt(embedded, 'resource')?.['uri'], own?.['uri']]).toEqual([
            exposed,
            exposed,
            `${id}://x`,
          ]);
          expect(await reading(agent, String(link?.['uri']))).toBe(`${README} of ${id}`);
        }
      });

      it('updates come under the URI that the client knows', async () => {
        await using agent = await connect(gateway.url);
        await using heard = await agent.listen({ uris: [README, renamed] });
        const watched = (id: string) =>
          ups[id]?.untilReceived(['resources/subscribe', 'subscriptions/listen'], ({ params }) =>
            JSON.stringify(params).includes(README),
          );
        await Promise.all([watched(first), watched(second)]);
        await ups[second]?.notify({ updated: README });
        await heard.next(updated(renamed));
        expect(heard.count(updated(README))).toBe(0);
        await ups[first]?.notify({ updated: README });
        await heard.next(updated(README));
        expect(era === 'legacy' || heard.acknowledged !== undefined).toBe(true);
      });

      it('a URI with the id of nobody, or of a server that does not have it, leads nowhere', async () => {
        await using agent = await connect(gateway.url);
        for (const uri of ['file://nobody!/README.md', `file://${first}!/README.txt`, 'three://x']) {
          const { error } = await agent.request('resources/read', { uri });
          expect(error, uri).toMatchObject({ code: era === 'modern' ? -32602 : -32002, data: { uri } });
        }
      });
    });

    it('the log says which one was renamed', () => {
      const told = gateway.logged.filter(({ finding }) => finding === 'uri.renamed');
      expect(told.map(({ upstream, kind, item }) => [upstream, kind, item])).toEqual([
        [second, 'resources', README],
        [second, 'templates', template],
      ]);
    });
  },
);

describe('C-074: URIs that only a template covers', () => {
  let ups: ScriptedUpstream[];
  let gateway: StartedGateway;

  beforeAll(async () => {
    const noTemplates = [{ on: 'resources/templates/list', do: { error: { code: -32601, message: 'no' } } }];
    ups = await Promise.all([
      startHttpUpstream({ id: 'one', resources: [], templates: ['db://{table}/{id}'] }),
      startHttpUpstream({
        id: 'two',
        resources: ['db://users/meta'],
        templates: ['db://{table}/meta{?v}', 'db://{table}/{id}/log'],
      }),
      startStdioUpstream({ id: 'three', resources: ['note://x'], faults: noTemplates }),
    ]);
    gateway = await startGateway({
      upstreams: Object.fromEntries(ups.map(({ id, config }) => [id, config])),
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await Promise.all((ups ?? []).map((up) => up[Symbol.asyncDispose]()));
  });

  describe.each(AGENTS)('a $era client', ({ connect, era }) => {
    it.each([
      ['db://users/7', 'one', 'a template'],
      ['db://users/meta', 'two', 'listed as it is: before any template'],
      ['db://users/meta?v=2', 'two', 'the template with a query'],
      ['db://a%2Fb/7', 'one', 'escapes pass as they are'],
      ['db://gr%C3%BC%C3%9Fe/%41', 'one', 'escapes that nobody needs, too'],
      ['db://users/meta/log', 'two', 'the only one that fits'],
      ['note://x', 'three', 'of a server without templates'],
    ])('reads %s of %s: %s', async (uri, id) => {
      await using agent = await connect(gateway.url);
      const after = new Map(ups.map((up) => [up.id, up.mark()]));
      expect(await reading(agent, uri)).toBe(`${uri} of ${id}`);
      const asked = ups.flatMap((up) =>
        up.received
          .slice(after.get(up.id))
          .flatMap(({ method, params }) => (method === 'resources/read' ? [params['uri']] : [])),
      );
      expect(asked).toEqual([uri]);
    });

    it.each(['zz://1', 'db://users', 'db://a/b/c/d', 'note://y', 'not a uri', 'db://users/meta#x'])(
      'is told that there is no "%s"',
      async (uri) => {
        await using agent = await connect(gateway.url);
        const { error } = await agent.request('resources/read', { uri });
        expect(error).toMatchObject({ code: era === 'modern' ? -32602 : -32002, data: { uri } });
      },
    );

    it('lists what there is, though one server refuses to list its templates', async () => {
      await using agent = await connect(gateway.url);
      expect(await agent.names('templates')).toEqual([
        'db://{table}/{id}',
        'db://{table}/meta{?v}',
        'db://{table}/{id}/log',
      ]);
      expect(await agent.names('resources')).toEqual(['db://users/meta', 'note://x']);
    });
  });
});

type Http = Awaited<ReturnType<typeof startHttpUpstream>>;
type Stdio = Awaited<ReturnType<typeof startStdioUpstream>>;

/** Ends the upstream as a crash does; one over stdio is started again by the gateway. */
function crash(up: ScriptedUpstream): Promise<void> {
  return 'restart' in up ? (up as Http).restart() : (up as Stdio).kill();
}

describe.each(FILLINGS)('C-076: what is watched at a $era upstream over $carrier', ({ era, start }) => {
  const X = 'u1://x';
  const Y = 'u1://y';
  const script: Script = { id: 'up', era, resources: [X, Y], tools: ['echo'] };

  /** The URIs that the newest connection of the upstream is asked to watch, as its record tells. */
  function watched(up: ScriptedUpstream, from = 0): readonly string[] {
    const sets = new Map<unknown, readonly string[]>();
    for (const { method, id, params } of up.received.slice(from)) {
      if (method === 'resources/subscribe') {
        sets.set(params['uri'], [String(params['uri'])]);
      } else if (method === 'resources/unsubscribe') {
        sets.delete(params['uri']);
      } else if (method === 'subscriptions/listen') {
        sets.set(id, (objectAt(params, 'notifications')?.['resourceSubscriptions'] ?? []) as string[]);
      } else if (method === CLOSED || method === 'notifications/cancelled') {
        sets.delete(params['requestId']);
      }
    }
    return [...new Set([...sets.values()].flat())].toSorted();
  }

  const eventually = { timeout: 10_000 };

  it('is asked once for all clients, renewed after a restart, and given up when the last one has gone', async () => {
    await using up = await start(script);
    const restart = { base: '20ms', cap: '60ms' };
    await using gateway = await startGateway({ upstreams: { up: { ...up.config, restart } } });
    await gateway.gateway.settled();
    await using one = await connectLegacy(gateway.url);
    await using two = await connectLegacy(gateway.url);
    await using modern = await connectModern(gateway.url);
    const heardByOne = await one.listen({ uris: [X] });
    const heardByTwo = await two.listen({ uris: [X] });
    const heardByModern = await modern.listen({ uris: [X, Y] });
    await expect.poll(() => watched(up), eventually).toEqual([X, Y]);
    if (era === 'legacy') {
      expect(up.count('resources/subscribe', ({ params }) => params['uri'] === X)).toBe(1);
    }

    const after = up.mark();
    await crash(up);
    await up.untilListening({ after });
    await expect.poll(() => watched(up, after), eventually).toEqual([X, Y]);
    const tell = async (uri: string) => up.notify({ updated: uri });
    await tell(X);
    await Promise.all([heardByOne, heardByTwo, heardByModern].map((stream) => stream.next(updated(X))));
    await tell(Y);
    await heardByModern.next(updated(Y));
    expect(heardByOne.count(updated(Y))).toBe(0);

    // One says goodbye, one stops watching, one closes its stream.
    expect((await one.http('DELETE').done).status).toBe(204);
    await heardByModern.close();
    await expect.poll(() => watched(up, after), eventually).toEqual([X]);
    await two.result('resources/unsubscribe', { uri: X });
    await expect.poll(() => watched(up, after), eventually).toEqual([]);
    expect((await modern.call('up.echo', { n: 1 })).structured).toEqual({ n: 1 });
  });

  it('is not offered where no server tells of updates', async () => {
    await using up = await start({ ...script, capabilities: { resources: { listChanged: true } } });
    await using gateway = await startGateway({ upstreams: { up: up.config } });
    await gateway.gateway.settled();
    for (const { connect } of AGENTS) {
      await using agent = await connect(gateway.url);
      const { resources } = agent.hello['capabilities'] as { resources: JsonObject };
      expect(resources).toEqual({ listChanged: true });
    }
    await using legacy = await connectLegacy(gateway.url);
    expect((await legacy.request('resources/subscribe', { uri: X })).error?.code).toBe(-32601);
    await using modern = await connectModern(gateway.url);
    await using stream = await modern.listen({ resources: true, uris: [X] });
    expect(stream.acknowledged?.['notifications']).toEqual({ resourcesListChanged: true });
    expect(up.count('resources/subscribe')).toBe(0);
  });
});
