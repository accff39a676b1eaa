import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { authFor, connectAs, headersOf } from './access-world.ts';

/** What operators may ask of a running gateway, and what nobody else is told. */

const SECRET = 'pin-4711-of-the-upstream';
const scope = new AsyncDisposableStack();
let gateway: StartedGateway;
let upstreams: Readonly<Record<string, unknown>>;

function config(more: object = {}) {
  return {
    auth: authFor({
      ops: { groups: ['ops'] },
      ann: { groups: ['eng'], scopes: ['write'] },
      bob: { groups: ['sales'] },
    }),
    operators: { groups: ['ops'] },
    views: { slim: { include: ['github.*'], exclude: ['github.secret'], naming: 'strict' } },
    access: [
      { who: { anyone: true }, deny: ['*'], where: { destructive: true } },
      { who: { groups: ['eng'] }, allow: ['tool:github.*'], scopes: ['write'] },
      {
        who: { groups: ['sales'] },
        allow: ['tool:github.search', 'prompt:github.*', 'resource:github.note://*'],
      },
    ],
    upstreams,
    ...more,
  };
}

beforeAll(async () => {
  const github = scope.use(
    await startHttpUpstream({
      id: 'github',
      tools: [
        'search',
        'secret',
        'old_name',
        { name: 'drop', annotations: { destructiveHint: true } },
        { name: 'hush', description: '\u001b[31mred' },
      ],
      prompts: ['greet'],
      resources: ['note://one'],
    }),
  );
  upstreams = {
    github: {
      ...github.config,
      headers: { Authorization: `Bearer ${SECRET}` },
      tools: {
        deny: ['hush'],
        rename: { old_name: 'new_name' },
        annotate: { search: { readOnly: true }, drop: { destructive: true } },
      },
    },
    gone: { url: 'http://127.0.0.1:9/mcp', optional: true },
  };
  gateway = scope.use(await startGateway(config()));
  await gateway.gateway.settled();
});

afterAll(() => scope.disposeAsync());

async function ask(path: string, headers: Record<string, string> = headersOf('ops'), method = 'GET') {
  const response = await fetch(`${gateway.origin}/api/${path}`, { headers, method });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

const explained = async (name: string, query = '') =>
  (await ask(`explain?name=${encodeURIComponent(name)}${query}`)).json;

describe('who may ask', () => {
  it.each(['status', 'config', 'catalog', 'explain?name=github.search'])(
    'of /api/%s: operators alone',
    async (path) => {
      const stranger = await ask(path, {});
      expect(stranger.status).toBe(401);
      expect(stranger.headers.get('www-authenticate')).toBe('Bearer');
      const user = await ask(path, headersOf('ann'));
      expect([user.status, user.json.error.message]).toEqual([403, expect.stringContaining('operators')]);
      for (const refused of [stranger, user]) {
        expect(refused.text).not.toMatch(/github|slim|eng/);
      }
      const operator = await ask(path);
      expect([operator.status, operator.headers.get('cache-control')]).toEqual([200, 'no-store']);
    },
  );

  it('no other site, even one that may use the endpoints of clients, and no other host', async () => {
    const open = config({ listen: { allowedOrigins: ['https://app.example'] } });
    gateway.reload(open);
    const other = await ask('status', { ...headersOf('ops'), origin: 'https://app.example' });
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    const own = await ask('status', { ...headersOf('ops'), origin: gateway.origin });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    gateway.reload(config());
  });

  it('only with GET, and only what there is', async () => {
    const posted = await ask('status', headersOf('ops'), 'POST');
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, OPTIONS']);
    expect((await ask('status', headersOf('ann'), 'POST')).status).toBe(403);
    for (const path of [
      'explain',
      'explain?name=x&who=ann',
      'explain?name=x&name=y',
      'explain?name=x&kind=tool',
      'explain?name=x&view=nowhere',
      'explain?name=x&as=key:nobody',
      'explain?name=x&as={"id":7}',
      'catalog?limit=-1',
      'status?all=1',
    ]) {
      expect([path, (await ask(path)).status]).toEqual([path, 400]);
    }
  });

  it('without sign-in, whoever sits at this machine', async () => {
    await using plain = await startGateway({ upstreams: {} });
    expect((await fetch(`${plain.origin}/api/status`)).status).toBe(200);
  });
});

describe('what is told', () => {
  it('the state of everything, and no secret', async () => {
    const { json, text } = await ask('status');
    expect(json).toMatchObject({
      status: 'ready',
      ready: true,
      version: '0.0.0-test',
      auth: 'keys',
      rules: 3,
      catalog: { tools: 4, prompts: 1, resources: 1, withheld: 0, revision: expect.any(String) },
      clients: { sessions: 0, streams: 0, listeners: 0, parkedCalls: 0 },
      views: { slim: { include: ['github.*'], exclude: ['github.secret'], naming: 'strict' } },
      config: { status: 'ok' },
      upstreams: {
        github: {
          state: 'ready',
          era: 'modern',
          kind: 'http',
          optional: false,
          isolation: 'shared',
          reconnects: 0,
        },
        gone: { optional: true, lastError: expect.any(String), failures: expect.any(Number) },
      },
    });
    expect(json.findings.total).toBeGreaterThan(0);
    expect(json.findings.items).toHaveLength(json.findings.total);
    const everything = text + (await ask('catalog')).text + (await ask('config')).text;
    expect(everything).not.toContain(SECRET);
    expect(everything).not.toContain(createHash('sha256').update(SECRET).digest('base64url').slice(0, 16));
  });

  it('where a name leads, by which rule, in which line', async () => {
    const found = await explained('github.search', '&as=ann');
    expect(found).toMatchObject({
      verdict: 'usable',
      asked: { as: 'ann', endpoint: '/mcp', names: 'dotted' },
      route: {
        kind: 'tools',
        upstream: 'github',
        original: 'search',
        names: { dotted: 'github.search', strict: 'github__search', bare: 'search' },
        listed: true,
      },
      access: {
        allowed: true,
        rule: { number: 2, line: expect.any(Number) },
        rules: 3,
        needs: ['write'],
        lacks: [],
      },
      view: { allowed: true },
      hints: {
        readOnly: { value: true, from: 'configuration' },
        destructive: { value: 'missing', from: 'nobody' },
      },
      upstream: { id: 'github', state: 'ready', timeouts: { call: 60_000 }, limits: { concurrency: 16 } },
      list: { whose: 'principal', known: false },
      assumed: true,
      absence: null,
    });
    expect(found.says).toMatch(/^It goes to github as "search", by rule 2 \(line \d+\)\. The list of github/);
    await using ann = await connectAs(connectModern, 'ann', gateway.url);
    await ann.names();
    expect(await explained('github.search', '&as=ann')).toMatchObject({
      verdict: 'usable',
      assumed: false,
      list: { whose: 'principal', known: true, stale: false, ageMs: expect.any(Number) },
    });
    expect(await explained('github.new_name')).toMatchObject({
      verdict: 'usable',
      configured: { allowedBy: '*', renamed: 'new_name', described: false },
      access: { about: [{ number: 2, allowed: true, who: { groups: ['eng'] } }] },
    });
    expect(await explained('note://one', '&as=bob')).toMatchObject({
      verdict: 'usable',
      route: { kind: 'resources' },
    });
    expect(await explained('search', '&view=github&as=ann')).toMatchObject({
      verdict: 'usable',
      asked: { endpoint: '/mcp/github', names: 'bare' },
    });
  });

  it.each([
    ['github.drop', '&as=ann', 'hidden', { reason: 'denied' }, /rule 1 \(line \d+\) denies it/],
    ['github.secret', '&as=bob', 'hidden', { reason: 'denied' }, /no rule allows it/],
    [
      'github__secret',
      '&as=ann&view=slim',
      'hidden',
      { reason: 'view' },
      /"exclude" of the view at \/mcp\/slim/,
    ],
    ['github.greet', '&as=ann&kind=prompts', 'hidden', { reason: 'denied' }, /no rule/],
    ['github.search', '&as=group:eng', 'scopes', null, /403.*write is lacking/],
    ['github.hush', '', 'absent', { reason: 'configuration', pattern: 'hush' }, /tools\.deny of github/],
    ['github.old_name', '', 'absent', { reason: 'renamed', instead: ['github.new_name'] }, /renames it/],
    ['search', '', 'absent', { reason: 'elsewhere', instead: ['github.search'] }, /github\.search/],
    [
      'gone.thing',
      '',
      'absent',
      { reason: 'upstream', upstream: 'gone' },
      /gone.*(backoff|connecting|broken)/,
    ],
    ['github.serch', '', 'absent', { reason: 'unknown' }, /nothing has this name/],
    ['search', '&view=github&as={"id":"nobody"}', 'hidden', { reason: 'endpoint' }, /\/mcp\/github/],
  ])('why %s%s is %s', async (name, query, verdict, absence, says) => {
    const explanation = await explained(name, query);
    expect(explanation).toMatchObject({ verdict, absence });
    expect(explanation.says).toMatch(says);
  });

  it('names that may have been meant', async () => {
    expect((await explained('github.serch')).nearest).toContain('github.search');
  });

  it('the catalog of everybody, of one principal, of one view, in parts', async () => {
    const names = async (query: string) =>
      (await ask(`catalog?definitions=false${query}`)).json.items.map(
        ({ names: { dotted } }: { names: { dotted: string } }) => dotted,
      );
    const all = [
      'github.search',
      'github.secret',
      'github.new_name',
      'github.drop',
      'github.greet',
      'note://one',
    ];
    expect(await names('')).toEqual(all);
    expect(await names('&as=bob')).toEqual(['github.search', 'github.greet', 'note://one']);
    expect(await names('&as=ann&view=slim')).toEqual(['github.search', 'github.new_name']);
    expect(await names('&from=1&limit=2')).toEqual(['github.secret', 'github.new_name']);
    expect(await names('&as={"id":"nobody"}&view=github')).toEqual([]);
    const { json } = await ask('catalog?kind=tools');
    expect(json).toMatchObject({ counts: { tools: 4, prompts: 1 }, revision: expect.any(String) });
    expect(json.items[0]).toMatchObject({
      original: 'search',
      definition: { name: 'search' },
      needs: [],
      withheld: false,
    });
  });
});
