import { afterAll, beforeAll, expect, it } from 'vitest';
import { isObject } from '../../src/base/json.ts';
import { explanationText } from '../../src/cli/explain-text.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const OWN = ['search_tools', 'describe_tools', 'call_tool'];
const LONG = { name: 'wordy', description: 'So many words. '.repeat(500) };
const FOR_PAGES = { name: 'redraw', _meta: { ui: { resourceUri: 'ui://page', visibility: ['app'] } } };

let talk: ScriptedUpstream;
let gateway: StartedGateway;

beforeAll(async () => {
  const hints = { ttlMs: 60_000, cacheScope: 'public' };
  talk = await startHttpUpstream({
    id: 'talk',
    hints,
    tools: ['echo', 'whoami', 'progress', LONG, FOR_PAGES],
    prompts: ['greet'],
  });
  gateway = await startGateway({
    views: {
      few: { mode: 'search', pinned: ['talk.whoami'] },
      strict: { mode: 'search', naming: 'strict', exclude: ['talk.progress'] },
      grows: { mode: 'progressive', found: { most: 1 } },
      small: { maxTokens: 1_200 },
      wide: { maxTokens: 100_000 },
      pins: { pinned: ['talk.whoami'] },
    },
    upstreams: { talk: talk.config },
  });
  await gateway.gateway.settled();
});

afterAll(async () => {
  await gateway?.close();
  await talk?.[Symbol.asyncDispose]();
});

it.each(['few', 'strict', 'grows', 'small', 'wide', 'pins'])(
  'operators are told of the view %s what its list has, and what is found instead',
  async (view) => {
    await using agent = await connectModern(`${gateway.origin}/mcp/${view}`);
    if (view === 'grows') {
      await agent.call('describe_tools', { names: ['talk.echo'] });
    }
    const { operations } = gateway.gateway;
    const gaze = { as: undefined, view, names: undefined, kind: 'tools' } as const;
    const { items } = await operations.catalog({ ...gaze, from: 0, limit: 100, definitions: false });
    const all = [...items];
    const style = view === 'strict' ? 'strict' : 'dotted';
    const named = (is: 'listed' | 'found') => all.filter((item) => item[is]).map((item) => item.names[style]);

    const offered = await agent.names();
    const listed = offered.filter((name) => !OWN.includes(name));
    expect(named('listed').toSorted()).toEqual(listed.toSorted());
    const { structured } =
      view === 'pins' ? { structured: { tools: [] } } : await agent.call('search_tools', { limit: 50 });
    const tools: readonly unknown[] = Array.isArray(structured['tools']) ? structured['tools'] : [];
    const findable = tools.filter(isObject).map(({ name }) => String(name));
    const isWhole = !offered.includes('search_tools');
    const found = isWhole ? [] : findable.filter((name) => !listed.includes(name));
    expect(named('found').toSorted()).toEqual(found.toSorted());

    for (const item of all) {
      const { route, verdict } = await operations.explain(item.names[style], gaze);
      expect([verdict, route]).toMatchObject(['usable', { listed: item.listed, found: item.found }]);
    }
    expect((await operations.explain('search_tools', gaze)).verdict).toBe(
      view === 'pins' ? 'absent' : 'usable',
    );
  },
);

it('people are told so too', async () => {
  const { operations } = gateway.gateway;
  const text = async (name: string, view: string) =>
    explanationText(
      await operations.explain(name, { as: undefined, view, names: undefined, kind: undefined }),
      undefined,
    );
  const found = await text('talk.echo', 'few');
  expect(found).toContain('It goes to talk as "echo". It is not in the list here: search_tools finds it.');
  expect(found).toMatch(/listed +no, found by search_tools\n/);
  expect(await text('talk.whoami', 'few')).toMatch(/listed +yes\n/);
  expect(await text('talk.redraw', 'few')).toMatch(/listed +no, but it can be used\n/);
  expect(await text('talk.greet', 'few')).toMatch(/listed +yes\n/);
  expect(await text('call_tool', 'few')).toContain('a tool of the gateway itself');
});

it('of the whole catalog nothing is listed anywhere', async () => {
  const whole = { as: undefined, view: undefined, names: undefined, kind: undefined };
  const { items } = await gateway.gateway.operations.catalog({
    ...whole,
    from: 0,
    limit: 100,
    definitions: false,
  });
  expect([...items].filter((item) => 'listed' in item || 'found' in item)).toEqual([]);
});
