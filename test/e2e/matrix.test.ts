import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectAt } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import type { Recorded } from '../kit/recorder.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { checkResult } from '../kit/wire-check.ts';

/**
 * Both client eras in front of both upstream eras over both carriers: every cell works, and every result is what the
 * client's era wants. Questions (`questions`, `parked-calls`), resource updates (`subscriptions`) and tasks (`tasks`) have
 * files of their own, over the same cells; docs/conformance.md has the whole table.
 */
const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

const script = {
  id: 'up',
  tools: ['echo', 'progress', 'log', 'slow', 'never', 'fail', 'rpc-error'],
  prompts: [{ name: 'greet', arguments: [{ name: 'who', title: 'Who' }] }],
  resources: [{ uri: 'note://one', name: 'one' }],
  templates: [{ uriTemplate: 'note://{name}', name: 'any' }],
};

describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    up = await start({ ...script, era });
    const config = { ...up.config, isolation: 'user', timeouts: { call: '2s' } };
    gateway = await startGateway({ upstreams: { up: config } });
  });

  afterAll(async () => {
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
  });

  describe.each(AGENTS)('a $era client', ({ connect }) => {
    const capabilities = { elicitation: { form: {} } };
    let agent: Agent;

    beforeAll(async () => {
      agent = await connect(gateway.url, { capabilities });
    });

    afterAll(async () => {
      await agent?.[Symbol.asyncDispose]();
    });

    it.each([
      ['tools/list', {}],
      ['prompts/list', {}],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['tools/call', { name: 'up.echo', arguments: { a: 1 } }],
      ['tools/call', { name: 'up.fail', arguments: {} }],
      ['prompts/get', { name: 'up.greet', arguments: { who: 'you' } }],
      ['resources/read', { uri: 'note://one' }],
      ['resources/read', { uri: 'note://two' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'up.greet' }, argument: { name: 'who', value: 'y' } },
      ],
      [
        'completion/complete',
        { ref: { type: 'ref/resource', uri: 'note://{name}' }, argument: { name: 'name', value: 'o' } },
      ],
    ])('gets a sound result of %s', async (method, params) => {
      const result = await agent.result(method, params);
      expect(checkResult(agent.version, method, result)).toEqual([]);
    });

    it('gets the error of a tool as the server gave it', async () => {
      const { error } = await agent.request('tools/call', {
        name: 'up.rpc-error',
        arguments: { code: -31999, message: 'theirs', data: { a: [1] } },
      });
      expect(error).toEqual({ code: -31999, message: 'theirs', data: { a: [1] } });
    });

    it.each([0, 'token'])(
      'gets progress under its own token %j, before the result, and none without one',
      async (progressToken) => {
        const { progress } = await agent.call('up.progress', { steps: 1 }, { progressToken });
        expect(progress).toMatchObject([{ progressToken, progress: 1 }]);
        expect((await agent.call('up.progress', { steps: 1 })).progress).toEqual([]);
      },
    );

    it('gets the log messages it asked for on the stream of its call', async () => {
      // One of its own: the level holds for a session, and of calls that were given up late messages may come.
      await using agent = await connect(gateway.url, { capabilities });
      if (agent.era === 'legacy') {
        await agent.result('logging/setLevel', { level: 'info' });
      }
      const meta = agent.era === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {};
      const { logs } = await agent.call('up.log', { level: 'warning', data: 'heard' }, { meta });
      expect(logs).toMatchObject([{ level: 'warning', data: 'heard' }]);
      // The server was told the level in the way of its own era.
      if (era === 'legacy') {
        await up.untilReceived('logging/setLevel', ({ params }) => params['level'] === 'info');
      } else {
        const asked = ({ params }: Recorded) => objectAt(params, '_meta')?.[META.logLevel] === 'info';
        await up.untilReceived('tools/call', asked);
        expect(up.count('logging/setLevel')).toBe(0);
      }
      const quiet = await agent.call('up.log', { level: 'debug', data: 'unheard' }, { meta });
      expect(quiet.logs).toEqual([]);
    });

    it('cancels a call in its own way, and the upstream hears of it in its own', async () => {
      const before = up.mark();
      const running = agent.begin('tools/call', { name: 'up.slow', arguments: { label: agent.era } });
      await up.untilReceived('tools/call', undefined, { after: before });
      await agent.cancel(running);
      const cancelled =
        era === 'modern' && up.config['url'] !== undefined ? '$closed' : 'notifications/cancelled';
      await up.untilReceived(cancelled, undefined, { after: before });
    });

    it('is told of a timeout by server and limit, and the call is cancelled upstream', async () => {
      const before = up.mark();
      const { result } = await agent.request('tools/call', { name: 'up.never', arguments: {} });
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toMatch(/\[up\].*2000 ms/);
      const cancelled =
        era === 'modern' && up.config['url'] !== undefined ? '$closed' : 'notifications/cancelled';
      await up.untilReceived(cancelled, undefined, { after: before });
    });

    it('hears of a changed list once, and lists anew', async () => {
      await using stream = await agent.listen({ prompts: true });
      await up.untilListening();
      const name = `for-${agent.era}`;
      await up.setList('prompts', [...(up.script.prompts ?? []), { name }]);
      await up.notify('prompts');
      const method = 'notifications/prompts/list_changed';
      await stream.next((message) => message.method === method);
      expect(await agent.names('prompts')).toContain(`up.${name}`);
      expect(stream.count((message) => message.method === method)).toBe(1);
    });

    it('knows only the methods of its era', async () => {
      const foreign =
        agent.era === 'modern' ? ['ping', 'resources/subscribe', 'logging/setLevel'] : ['server/discover'];
      for (const method of [...foreign, 'no/such']) {
        expect((await agent.request(method, { uri: 'note://one', level: 'info' })).error?.code).toBe(-32601);
      }
    });
  });
});
