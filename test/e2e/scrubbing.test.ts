import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepCredential } from '../../src/base/secrets.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

/** What the gateway signs in with somewhere, in the forms in which servers repeat it. */
const credential = `k/${randomBytes(24).toString('hex')}+`;
const FORMS = [
  credential,
  Buffer.from(`gateway:${credential}`).toString('base64'),
  encodeURIComponent(credential),
];
const told = `Signed in with ${FORMS.join(', ')}.`;
const leaks = (text: string) => [credential.slice(2, -1), ...FORMS].filter((form) => text.includes(form));

/** Says what it must not wherever a server can say something. */
const script = {
  instructions: told,
  serverInfo: { name: told, version: '1' },
  tools: [
    'echo',
    'rpc-error',
    'fail',
    'progress',
    'log',
    {
      name: 'chatty',
      description: told,
      inputSchema: { type: 'object', properties: { x: { type: 'string', default: credential } } },
    },
  ],
  prompts: ['hello'],
  promptResults: { hello: { messages: [{ role: 'user', content: { type: 'text', text: told } }] } },
  resources: [{ uri: 'note://one', name: 'one', description: told }],
  readResults: { 'note://one': { contents: [{ uri: 'note://one', text: told }] } },
  calls: {
    'rpc-error': { does: 'rpc-error', code: -32050, message: told, data: { told: [told] } },
  },
} as const;

describe('C-095: a credential of the gateway in what servers say', () => {
  const scope = new AsyncDisposableStack();
  let gateway: StartedGateway;
  let upstreams: readonly ScriptedUpstream[];
  beforeAll(async () => {
    scope.defer(keepCredential(credential));
    upstreams = [
      scope.use(await startStdioUpstream({ ...script, id: 'pipe', era: 'legacy' })),
      scope.use(await startHttpUpstream({ ...script, id: 'web', era: 'modern' })),
    ];
    const configs = Object.fromEntries(upstreams.map((each) => [each.id, each.config]));
    gateway = scope.use(await startGateway({ upstreams: configs }));
  });
  afterAll(() => scope.disposeAsync());

  it.each(AGENTS)('reaches no $era client, whatever it asks', async (client) => {
    await using agent = await client.connect(gateway.url);
    await agent.untilNames((names) => names.includes('pipe.chatty') && names.includes('web.chatty'));
    const heard = [JSON.stringify(agent.hello)];
    for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
      heard.push((await agent.request(method)).text);
    }
    for (const { id } of upstreams) {
      for (const tool of ['echo', 'rpc-error', 'fail']) {
        const args = { message: told, nested: { [told]: [told] } };
        heard.push((await agent.request('tools/call', { name: `${id}.${tool}`, arguments: args })).text);
      }
      const progress = { name: `${id}.progress`, arguments: { message: told } };
      heard.push((await agent.request('tools/call', progress, { progressToken: 'p' })).text);
      heard.push((await agent.request('prompts/get', { name: `${id}.hello` })).text);
    }
    heard.push((await agent.request('resources/read', { uri: 'note://one' })).text);
    heard.push(JSON.stringify(await (await fetch(`${gateway.origin}/readyz`)).json()));
    // Every one of them had something to hide.
    expect(heard.filter((text) => text.includes('[secret]')).length).toBeGreaterThanOrEqual(11);
    expect(leaks(heard.join('\n'))).toEqual([]);
    expect(leaks(JSON.stringify(gateway.logged))).toEqual([]);
  });

  it.each(AGENTS)('is passed on to the server that a $era client sends it to', async (client) => {
    await using agent = await client.connect(gateway.url);
    await agent.untilNames((names) => names.includes('web.echo'));
    const { structured } = await agent.call('web.echo', { message: credential });
    expect(structured).toEqual({ message: '[secret]' });
    const call = upstreams[1]?.received.findLast(({ method }) => method === 'tools/call');
    expect(JSON.stringify(call)).toContain(credential);
  });

  it('changes nothing of what holds none', async () => {
    await using agent = await (AGENTS[0]?.connect(gateway.url) ?? Promise.reject(new Error('no agent')));
    await agent.untilNames((names) => names.includes('web.echo'));
    const args = { text: credential.slice(0, 20), n: [1, null, { '': '' }], deep: { deeper: ['x'] } };
    expect((await agent.call('web.echo', args)).structured).toEqual(args);
  });
});
