import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const APP_TOOL = {
  name: 'refresh',
  description: 'Tool refresh',
  inputSchema: { type: 'object' },
  _meta: { ui: { resourceUri: 'ui://page', visibility: ['app'] } },
};

describe('views', () => {
  let files: ScriptedUpstream;
  let web: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    files = await startStdioUpstream({
      id: 'files',
      instructions: 'Files are files.',
      tools: ['read', 'write', 'secret'],
      prompts: ['ask'],
      resources: ['file:///data/a', 'file:///etc/b'],
      templates: ['file:///data/{name}', 'file:///etc/{name}'],
      capabilities: { resources: { subscribe: true, listChanged: true } },
    });
    web = await startHttpUpstream({
      id: 'web',
      instructions: 'The web is wide.',
      tools: ['get'],
      prompts: ['say'],
    });
    gateway = await startGateway({
      instructions: 'Be kind.',
      views: {
        default: { exclude: ['*.secret'] },
        slim: {
          include: ['files.read', 'resource:files.file:///data/*'],
          naming: 'strict',
          instructions: 'Only read.',
          upstreamInstructions: false,
        },
        none: { include: ['files.nothing_of_that_name'] },
      },
      upstreams: { files: files.config, web: web.config },
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await files?.[Symbol.asyncDispose]();
    await web?.[Symbol.asyncDispose]();
  });

  describe.each(AGENTS)('for a $era client', ({ connect, era }) => {
    const at = (path: string) => connect(`${gateway.origin}/mcp${path}`);
    const instructionsOf = (hello: JsonObject) => String(hello['instructions']);

    it('the view "default" is what /mcp serves', async () => {
      await using agent = await at('');
      expect(await agent.names()).toEqual(['files.read', 'files.write', 'web.get']);
      expect(await agent.names('prompts')).toEqual(['files.ask', 'web.say']);
      const { error } = await agent.request('tools/call', { name: 'files.secret', arguments: {} });
      const unknown = await agent.request('tools/call', { name: 'files.secreT', arguments: {} });
      expect(error).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
      expect(error?.message.replace('secret', 'secreT')).toBe(unknown.error?.message);
      expect(instructionsOf(agent.hello)).toBe(
        'Be kind.\n\n## files\nFiles are files.\n\n## web\nThe web is wide.',
      );
      await using same = await at('/default');
      expect(await same.names()).toEqual(['files.read', 'files.write', 'web.get']);
    });

    it('a view has its own selection, names and instructions', async () => {
      await using agent = await at('/slim');
      expect(await agent.names()).toEqual(['files__read']);
      expect(await agent.names('resources')).toEqual(['file:///data/a']);
      expect(await agent.names('templates')).toEqual(['file:///data/{name}']);
      expect(instructionsOf(agent.hello)).toBe('Only read.');
      expect((await agent.call('files__read', { a: 1 })).structured).toEqual({ a: 1 });
      expect((await agent.call('files.read', { a: 2 })).structured).toEqual({ a: 2 });
      for (const name of ['files__write', 'files.secret', 'web__get', 'read']) {
        const { error } = await agent.request('tools/call', { name, arguments: {} });
        expect(error, name).toMatchObject({ code: -32602, data: { code: 'NAME_UNKNOWN' } });
      }
      expect((await agent.request('prompts/get', { name: 'files.ask' })).error?.code).toBe(-32602);
    });

    it('?names= outranks the style of the view', async () => {
      await using agent = await at('/slim?names=dotted');
      expect(await agent.names()).toEqual(['files.read']);
    });

    it('tells of what its own servers can do, and of nothing else', async () => {
      await using slim = await at('/slim');
      await using none = await at('/none');
      const able = (hello: JsonObject) => Object.keys(objectAt(hello, 'capabilities') ?? {}).toSorted();
      expect(able(slim.hello)).toEqual(expect.arrayContaining(['prompts', 'resources', 'tools']));
      expect(await slim.names('prompts')).toEqual([]);
      // Its one pattern could match a tool of `files`, which may appear at any time.
      expect(able(none.hello)).toEqual(able(slim.hello));
      expect(await none.names()).toEqual([]);
    });

    it('reads what belongs to it, and nothing else', async () => {
      await using agent = await at('/slim');
      for (const uri of ['file:///data/a', 'file:///data/other']) {
        const { contents } = await agent.result('resources/read', { uri });
        expect((contents as JsonObject[])[0]?.['uri']).toBe(uri);
      }
      const mark = files.mark();
      for (const uri of ['file:///etc/b', 'file:///etc/other', 'file:///nowhere']) {
        const { error } = await agent.request('resources/read', { uri });
        expect(error, uri).toMatchObject({ code: era === 'legacy' ? -32002 : -32602, data: { uri } });
      }
      expect(files.received.slice(mark).filter(({ method }) => method === 'resources/read')).toEqual([]);
    });

    it('an endpoint of one server alone is no view: everything of it is there', async () => {
      await using agent = await at('/files');
      expect(await agent.names()).toEqual(['read', 'write', 'secret']);
      expect(instructionsOf(agent.hello)).toBe('Be kind.\n\n## files\nFiles are files.');
    });

    it('a name that nothing has is no endpoint', async () => {
      const answer = await fetch(`${gateway.origin}/mcp/nothing`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: '{}',
      });
      expect(answer.status).toBe(404);
    });
  });

  it('a session belongs to the view in which it was opened', async () => {
    await using agent = await connectLegacy(`${gateway.origin}/mcp/slim`);
    const elsewhere = (path: string) =>
      fetch(`${gateway.origin}/mcp${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': agent.sessionId ?? '',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    expect((await elsewhere('/slim')).status).toBe(200);
    for (const path of ['', '/none', '/files']) {
      expect((await elsewhere(path)).status, path).toBe(404);
    }
  });
});

describe.each(AGENTS)('pages of a view, for a $era client', ({ connect }) => {
  it('a cursor of one view means nothing in another', async () => {
    await using up = await startHttpUpstream({ id: 'up', tools: ['a', 'b', 'c', 'd'] });
    await using gateway = await startGateway({
      lists: { pageSize: 1 },
      views: { left: { exclude: ['up.a'] }, right: { exclude: ['up.d'] } },
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    await using left = await connect(`${gateway.origin}/mcp/left`);
    await using right = await connect(`${gateway.origin}/mcp/right`);
    await using all = await connect(gateway.url);
    expect(await left.names()).toEqual(['up.b', 'up.c', 'up.d']);
    expect(await right.names()).toEqual(['up.a', 'up.b', 'up.c']);
    const { nextCursor } = await left.result('tools/list');
    expect((await left.result('tools/list', { cursor: nextCursor }))['tools']).toMatchObject([
      { name: 'up.c' },
    ]);
    for (const other of [right, all]) {
      expect((await other.request('tools/list', { cursor: nextCursor })).error?.code).toBe(-32602);
    }
  });
});

describe.each(AGENTS)('what the configuration says of tools, for a $era client', ({ connect }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await startHttpUpstream({
      id: 'up',
      tools: ['create', 'drop', 'drop_all', 'hidden', APP_TOOL, 'plain'],
      calls: { refresh: { does: 'echo' } },
    });
    gateway = await startGateway({
      upstreams: {
        up: {
          ...up.config,
          tools: {
            deny: ['hidden', 'drop_*'],
            rename: { create: 'new', refresh: 'reload', gone: 'never' },
            describe: { create: 'Makes one.' },
            annotate: { create: { destructive: false, title: 'New' } },
          },
        },
      },
    });
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  it('is what they are', async () => {
    await using agent = await connect(gateway.url);
    expect(await agent.names()).toEqual(['up.new', 'up.drop', 'up.reload', 'up.plain']);
    expect((await agent.list('tools'))[0]).toEqual({
      name: 'up.new',
      description: 'Makes one.',
      inputSchema: { type: 'object' },
      annotations: { destructiveHint: false, title: 'New' },
    });
    await using strict = await connect(`${gateway.url}?names=strict`);
    expect(await strict.names()).toContain('up__new');
    await using alone = await connect(`${gateway.origin}/mcp/up`);
    expect(await alone.names()).toEqual(['new', 'drop', 'reload', 'plain']);
  });

  it('the server is called by its own name, under whichever new one; the old ones only lead to the new', async () => {
    await using agent = await connect(gateway.url);
    await using alone = await connect(`${gateway.origin}/mcp/up`);
    const mark = up.mark();
    await agent.call('up.new', { n: 1 });
    await agent.call('up__new', { n: 2 });
    await alone.call('new', { n: 3 });
    const asked = up.received.slice(mark).filter(({ method }) => method === 'tools/call');
    expect(asked.map(({ params }) => params['name'])).toEqual(['create', 'create', 'create']);
    for (const name of ['create', 'new', 'up.hidden', 'hidden', 'up.drop_all']) {
      expect((await agent.request('tools/call', { name, arguments: {} })).error?.code, name).toBe(-32602);
    }
    for (const name of ['hidden', 'up.create']) {
      expect((await alone.request('tools/call', { name, arguments: {} })).error?.code, name).toBe(-32602);
    }
    for (const name of ['up.create', 'up__create']) {
      expect((await agent.call(name, { n: 4 })).text).toContain('It is called "up.new" now.');
    }
    expect((await alone.call('create', { n: 5 })).text).toContain('It is called "new" now.');
    expect(up.received.slice(mark).filter(({ method }) => method === 'tools/call')).toHaveLength(3);
  });

  it('the page of an app, which knows nothing of new names, goes on calling by the old one', async () => {
    await using agent = await connect(gateway.url);
    await using alone = await connect(`${gateway.origin}/mcp/up`);
    expect((await agent.call('refresh', { n: 1 })).structured).toEqual({ n: 1 });
    expect((await alone.call('refresh', { n: 2 })).structured).toEqual({ n: 2 });
    expect((await agent.call('up.reload', { n: 3 })).structured).toEqual({ n: 3 });
  });

  it('a tool that is not there is a finding', () => {
    const { findings } = gateway.gateway.store.current;
    expect(findings).toEqual([
      expect.objectContaining({ id: 'tool.not-there', upstream: 'up', item: 'gone' }),
    ]);
  });
});
