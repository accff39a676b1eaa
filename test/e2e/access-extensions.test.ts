import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { authFor, connectAs, told } from './access-world.ts';

/** Requests that name no item of a list, each under rules: tasks, methods of extensions, bare names of apps. */

const ANYONE = { anyone: true };
const TASKS = 'io.modelcontextprotocol/tasks';

describe('tasks', () => {
  it('of a server of which nothing may be seen any more are unknown', async () => {
    const task = {
      taskId: 't1',
      createdAt: '2026-11-30T00:00:00Z',
      lastUpdatedAt: '2026-11-30T00:00:00Z',
      ttlMs: 60_000,
    };
    await using up = await startHttpUpstream({
      id: 'up',
      era: 'modern',
      tools: ['job'],
      capabilities: { extensions: { [TASKS]: {} } },
      calls: { job: { does: 'raw', result: { ...task, resultType: 'task', status: 'working' } } },
      methods: { 'tasks/get': { ...task, status: 'working' } },
    });
    await using other = await startHttpUpstream({ id: 'other', tools: ['x'] });
    const common = {
      sealingKey: randomBytes(32).toString('base64'),
      upstreams: { up: up.config, other: other.config },
    };
    const able = { capabilities: { extensions: { [TASKS]: {} } } };
    const look = async (gateway: { url: string }, taskId: string) => {
      await using agent = await connectModern(gateway.url, able);
      return await agent.request('tasks/get', { taskId }, { headers: { 'mcp-name': taskId } });
    };
    await using before = await startGateway({ ...common, access: [{ who: ANYONE, allow: ['*'] }] });
    await before.gateway.settled();
    await using agent = await connectModern(before.url, able);
    const taskId = String((await agent.result('tools/call', { name: 'up.job', arguments: {} }))['taskId']);
    expect((await look(before, taskId)).result).toMatchObject({ taskId, status: 'working' });
    // The same replica after the rules have changed.
    await using after = await startGateway({ ...common, access: [{ who: ANYONE, allow: ['other.*'] }] });
    await after.gateway.settled();
    const asked = up.count('tasks/get');
    const gone = await look(after, taskId);
    expect(gone.error).toMatchObject({ code: -32602 });
    expect(told(gone, taskId)).toBe(told(await look(after, 'made up'), 'made up'));
    expect((await look({ url: `${before.origin}/mcp/other` }, taskId)).error?.code).toBe(-32602);
    expect(up.count('tasks/get')).toBe(asked);
  });
});

describe('methods of extensions', () => {
  const ODD = 'com.example/oddities';
  const PEOPLE = { all: { groups: ['all'] }, part: { groups: ['part'] }, some: { groups: ['some'] } };
  const RULES = [
    { who: { groups: ['all'] }, deny: ['odd.x://shut'], allow: ['odd.*'] },
    { who: { groups: ['some'] }, allow: ['odd.oddities/list', 'tool:odd.*', 'resource:odd.x://open'] },
    { who: { groups: ['part'] }, allow: ['tool:odd.*', 'odd.whoami'] },
  ];

  it('go by patterns without a prefix, and by the resource that they name', async () => {
    await using up = await startHttpUpstream({
      id: 'odd',
      era: 'modern',
      tools: ['whoami'],
      capabilities: { extensions: { [ODD]: {} } },
      methods: { 'oddities/list': { odd: [1] }, 'oddities/drop': { odd: [] } },
    });
    await using gateway = await startGateway({
      auth: authFor(PEOPLE),
      access: RULES,
      upstreams: { odd: up.config },
    });
    await gateway.gateway.settled();
    const ask = async (id: string, method: string, params: JsonObject = {}) => {
      await using agent = await connectAs(connectModern, id, gateway.url);
      const { result, error } = await agent.request(method, params);
      return result?.['odd'] ?? objectAt(error, 'data')?.['code'];
    };
    expect(await ask('all', 'oddities/list')).toEqual([1]);
    expect(await ask('all', 'oddities/drop')).toEqual([]);
    expect(await ask('all', 'oddities/list', { uri: 'x://any' })).toEqual([1]);
    expect(await ask('all', 'oddities/list', { uri: 'x://shut' })).toBe('URI_UNKNOWN');
    expect(await ask('some', 'oddities/list')).toEqual([1]);
    expect(await ask('some', 'oddities/list', { uri: 'x://open' })).toEqual([1]);
    expect(await ask('some', 'oddities/list', { uri: 'x://any' })).toBe('URI_UNKNOWN');
    const asked = up.received.filter(({ method }) => method.startsWith('oddities/')).length;
    expect(await ask('some', 'oddities/drop')).toBe('METHOD_UNKNOWN');
    expect(await ask('part', 'oddities/list')).toBe('METHOD_UNKNOWN');
    expect(up.received.filter(({ method }) => method.startsWith('oddities/'))).toHaveLength(asked);
  });
});

describe.each(AGENTS)('the page of an app, for a $era client', ({ connect }) => {
  it('calls by bare names what its user may call, and nothing else', async () => {
    const app = (name: string) => ({
      name,
      inputSchema: { type: 'object' },
      _meta: { ui: { visibility: ['app'] } },
    });
    await using one = await startHttpUpstream({
      id: 'one',
      tools: [app('refresh'), app('purge'), app('twice')],
    });
    await using two = await startHttpUpstream({ id: 'two', tools: [app('twice')] });
    await using gateway = await startGateway({
      access: [{ who: ANYONE, deny: ['one.purge', 'two.*'], allow: ['*'] }],
      upstreams: { one: one.config, two: two.config },
    });
    await gateway.gateway.settled();
    await using agent = await connect(gateway.url);
    expect((await agent.call('refresh', { n: 1 })).structured).toEqual({ n: 1 });
    // Of two servers that have it this client sees one.
    expect((await agent.call('twice', { n: 2 })).structured).toEqual({ n: 2 });
    const [forbidden, unknown] = await Promise.all(
      ['purge', 'purgX'].map((name) => agent.request('tools/call', { name, arguments: {} })),
    );
    expect(told(forbidden!, 'purge')).toBe(told(unknown!, 'purgX'));
    expect([one.count('tools/call'), two.count('tools/call')]).toEqual([2, 0]);
  });
});
