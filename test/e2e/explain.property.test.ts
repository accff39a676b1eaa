import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isObject } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { authFor, connectAs } from './access-world.ts';

/** What explain says equals what a real list and a real use give: for any rules, views and tool settings, and anybody. */

const PEOPLE = {
  ann: { groups: ['eng'], scopes: ['write'] },
  bob: { groups: ['eng', 'sales'] },
  cec: {},
};
const WHO = Object.keys(PEOPLE);

const pattern = fc.constantFrom(
  '*',
  'one.*',
  'two.*',
  'tool:one.*',
  'one.read*',
  'one.write',
  'prompt:*.greet',
  'two.r?ad',
  'resource:one.note://*',
  'resource:*.note://a/../b',
);
const patterns = fc.uniqueArray(pattern, { maxLength: 3 });
const who = fc.constantFrom(
  { anyone: true },
  { groups: ['eng'] },
  { groups: ['sales'] },
  { ids: ['cec'] },
  { scopes: ['write'] },
);
const where = fc.constantFrom(
  {},
  {},
  { where: { readOnly: true } },
  { where: { destructive: true } },
  { where: { readOnly: 'missing' } },
);
const rule = fc
  .tuple(who, patterns, patterns, where, fc.constantFrom([], ['write']))
  .map(([whom, allow, deny, hints, scopes]) => ({ who: whom, allow, deny, ...hints, scopes }))
  .filter(({ allow, deny }) => allow.length + deny.length > 0);
const view = fc.record({
  include: fc.uniqueArray(pattern, { minLength: 1, maxLength: 3 }),
  exclude: patterns,
});
const tools = fc.record({
  deny: fc.constantFrom([], ['write'], ['r*']),
  rename: fc.constantFrom({}, { read: 'fetch' }, { read: 'write' }),
  annotate: fc.constantFrom({}, { read: { readOnly: true } }, { write: { destructive: true } }),
});
interface Next {
  readonly access: readonly object[];
  readonly views: object;
  readonly trusted: boolean;
  readonly tools: object;
}

const settings: fc.Arbitrary<Next> = fc.record({
  access: fc.array(rule, { maxLength: 4 }),
  views: fc.record({ default: view, slim: view }),
  trusted: fc.boolean(),
  tools,
});

/** What chance may leave out: scopes that somebody lacks. */
const EVERYTHING = { include: ['*'], exclude: [] };
const SCOPED: Next = {
  access: [{ who: { groups: ['eng'] }, allow: ['*'], deny: [], scopes: ['write'] }],
  views: { default: EVERYTHING, slim: EVERYTHING },
  trusted: false,
  tools: { deny: [], rename: {}, annotate: {} },
};

const NAMES = ['one.read', 'one.fetch', 'one.write', 'two.read', 'two__write', 'two.none', 'read'];
const URIS = ['note://a', 'note://b', 'note://a/../b', 'other://c'];

type Found = 'usable' | 'scopes' | 'unknown';

/** Texts of the gateway for what leads nowhere; those of the servers of the kit are others. */
const NOWHERE =
  /no such name here|Resource not found; list again|no such endpoint|not offered under this name any more/i;

/** How a real use ends: what the upstream says to it does not count. */
async function used(agent: Agent, method: string, params: Record<string, unknown>): Promise<Found> {
  const { status, error, result } = await agent.request(method, params);
  return status === 403 ? 'scopes' : NOWHERE.test(JSON.stringify([error, result])) ? 'unknown' : 'usable';
}

const said = (verdict: string): Found =>
  verdict === 'usable' ? 'usable' : verdict === 'scopes' ? 'scopes' : 'unknown';

it.each(['public', 'private'] as const)('where lists are %s', async (cacheScope) => {
  const script = {
    tools: [{ name: 'read', annotations: { readOnlyHint: true } }, 'write'],
    prompts: ['greet'],
    resources: ['note://a', 'note://b'],
    hints: { cacheScope, ttlMs: 60_000 },
  };
  await using one = await startHttpUpstream({ id: 'one', ...script });
  await using two = await startHttpUpstream({ id: 'two', ...script, resources: [] });
  const config = ({ access, views, trusted, tools: shaped }: Next) => ({
    auth: authFor(PEOPLE),
    limits: { perPrincipal: { requestsPerSecond: 100_000, burst: 100_000 } },
    access,
    views,
    upstreams: {
      one: { ...one.config, trust: { annotations: trusted }, tools: shaped },
      two: two.config,
    },
  });
  await using gateway = await startGateway(config({ access: [], views: {}, trusted: false, tools: {} }));
  await gateway.gateway.settled();
  const { operations } = gateway.gateway;
  await fc.assert(
    fc.asyncProperty(
      settings,
      fc.constantFrom(...WHO),
      fc.constantFrom(undefined, 'slim', 'one'),
      async (next, id, place) => {
        gateway.reload(config(next));
        const url = place === undefined ? gateway.url : `${gateway.url}/${place}`;
        await using agent = await connectAs(connectModern, id, url, { greet: false });
        const gaze = { as: id, view: place, names: undefined };
        // Before anything was read for this principal, and after.
        const verdicts = async () => {
          const all = await Promise.all(
            NAMES.map((name) => operations.explain(name, { ...gaze, kind: 'tools' })),
          );
          return all.map(({ verdict }) => verdict);
        };
        const assumed = await verdicts();
        const listed = await agent.request('tools/list');
        const names = (isObject(listed.result) ? (listed.result['tools'] as { name: string }[]) : []).map(
          ({ name }) => name,
        );
        for (const name of [...NAMES, ...names]) {
          const explained = await operations.explain(name, { ...gaze, kind: 'tools' });
          const { route, asked } = explained;
          const called = route?.names[asked.names] ?? name;
          expect([called, route?.listed === true]).toEqual([called, names.includes(called)]);
          expect([name, said(explained.verdict)]).toEqual([
            name,
            await used(agent, 'tools/call', { name, arguments: {} }),
          ]);
        }
        for (const uri of URIS) {
          const { verdict } = await operations.explain(uri, { ...gaze, kind: 'resources' });
          expect([uri, said(verdict)]).toEqual([uri, await used(agent, 'resources/read', { uri })]);
        }
        expect(await verdicts()).toEqual(assumed);
        const { verdict } = await operations.explain('two.greet', { ...gaze, kind: 'prompts' });
        expect(['two.greet', said(verdict)]).toEqual([
          'two.greet',
          await used(agent, 'prompts/get', { name: 'two.greet' }),
        ]);
      },
    ),
    { numRuns: 12, examples: [[SCOPED, 'bob', undefined]] },
  );
});
