import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { Script, ScriptedUpstream } from '../kit/upstream.ts';

/** JSON-RPC errors of servers, for which the same holds as for results that are errors. */

const TOKEN = `ghp_${'aB3dE5gH7jK9mN1pQ3rS'.repeat(2).slice(0, 36)}`;
const error = {
  code: -32603,
  message: `No ${TOKEN}\n    at run (/srv/app/run.js:1:2)\n    at call (/srv/app/call.js:3:4)`,
  data: { query: 'SELECT id FROM users WHERE id = 7', host: 'db.prod.internal:5432', code: 7 },
};
const TRIMMED = {
  message: 'No [secret]\n[stack trace]',
  data: { query: '[SQL]', host: '[internal host]', code: 7 },
};
const LINK = {
  code: -32042,
  message: 'Sign in, says /srv/app/login.js',
  data: {
    elicitations: [{ mode: 'url', url: 'http://localhost:9/sign-in', elicitationId: '1', message: 'Go' }],
  },
};

const script = (id: string): Script => ({
  id,
  tools: ['echo', 'rpc-error', 'link'],
  prompts: ['ask'],
  resources: [`note://${id}/etc/hosts`],
  calls: { 'rpc-error': { does: 'rpc-error', ...error }, link: { does: 'rpc-error', ...LINK } },
  faults: ['prompts/get', 'resources/read', 'completion/complete'].map((on) => ({
    on,
    do: { error },
  })),
});

const KEPT = { credentials: 'flag', errorDetails: 'flag' };
const STRICT = { credentials: 'mask', errorDetails: 'trim' };
const ups: ScriptedUpstream[] = [];
let gateway: StartedGateway;

/** `strict` has keys of its own; `plain` has those of the gateway. */
const configured = (vetting: object) => {
  const [plain, strict] = ups;
  return { vetting: KEPT, upstreams: { plain: plain?.config, strict: { ...strict?.config, vetting } } };
};

beforeAll(async () => {
  ups.push(await startHttpUpstream(script('plain')), await startHttpUpstream(script('strict')));
  gateway = await startGateway(configured(STRICT));
  await gateway.gateway.settled();
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all(ups.map((up) => up[Symbol.asyncDispose]()));
});

const REQUESTS = [
  ['tools/call', (id: string) => ({ name: `${id}.rpc-error`, arguments: {} })],
  ['prompts/get', (id: string) => ({ name: `${id}.ask` })],
  ['resources/read', (id: string) => ({ uri: `note://${id}/etc/hosts` })],
  [
    'completion/complete',
    (id: string) => ({
      ref: { type: 'ref/prompt', name: `${id}.ask` },
      argument: { name: 'topic', value: '' },
    }),
  ],
] as const;

describe.each(AGENTS)('for a $era client', ({ connect }) => {
  it.each(REQUESTS)(
    '%s: an error of a server is passed on whole, or trimmed where that is asked for',
    async (method, params) => {
      await using agent = await connect(gateway.url);
      const plain = await agent.request(method, params('plain'));
      expect(plain.error).toMatchObject(error);
      const strict = await agent.request(method, params('strict'));
      expect(strict.error).toMatchObject({ code: error.code, ...TRIMMED });
    },
  );
});

it('what the caller named itself stays, and links that a user has to open', async () => {
  await using agent = await connectModern(gateway.url);
  const link = await agent.request('tools/call', { name: 'strict.link', arguments: {} });
  expect(JSON.stringify(link)).toContain('http://localhost:9/sign-in');
  expect(JSON.stringify(link)).not.toContain('/srv/app');
  const named = { ...error, message: 'ENOENT: /etc/hosts, not /etc/passwd', data: undefined };
  const [, strict] = ups;
  await strict?.change({ faults: [{ on: 'resources/read', do: { error: named } }] });
  const read = await agent.request('resources/read', { uri: 'note://strict/etc/hosts' });
  expect(read.error?.message).toBe('ENOENT: /etc/hosts, not [path]');
});

it('is counted, and told once for each method', async () => {
  const told = gateway.logged.filter(({ msg }) => /gives away/.test(String(msg)));
  const items = told.map(({ upstream, item }) => `${upstream} ${item}`);
  const kinds = told.flatMap(({ upstream, item, found }) =>
    (found as string[]).map((each) => `${upstream} ${item} ${each}`),
  );
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(items).toEqual(expect.arrayContaining(['plain tools/call', 'strict completion/complete']));
  expect(JSON.stringify(told)).not.toContain('prod.internal');
});

it('a change of the key holds from the next call on, without a restart', async () => {
  const before = ups[1]?.count('initialize');
  const diff = gateway.reload(configured({}));
  expect(diff.upstreams).toEqual({ added: [], removed: [], restarted: [], changed: ['strict'] });
  await using agent = await connectModern(gateway.url);
  const { error: whole } = await agent.request('tools/call', { name: 'strict.rpc-error', arguments: {} });
  expect(whole).toMatchObject(error);
  expect(ups[1]?.count('initialize')).toBe(before);
});

describe.each(AGENTS)(
  'a code of the modern era from a server of the other, to a $era client',
  ({ connect }) => {
    it.each([-32_020, -32_021, -32_022])('%i is its own, and it is called once', async (code) => {
      await using old = await startHttpUpstream({
        id: 'old',
        era: 'legacy',
        tools: ['rpc-error'],
        calls: { 'rpc-error': { does: 'rpc-error', code, message: 'Quota', data: { left: 0 } } },
      });
      await using front = await startGateway({ upstreams: { old: old.config } });
      await front.gateway.settled();
      await using agent = await connect(front.url);
      const refused = await agent.request('tools/call', { name: 'old.rpc-error', arguments: {} });
      expect([refused.status, refused.error]).toEqual([
        200,
        { code: -32_603, message: 'Quota', data: { left: 0 } },
      ]);
      expect(old.count('tools/call')).toBe(1);
    });
  },
);
