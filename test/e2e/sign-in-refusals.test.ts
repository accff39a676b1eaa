import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../src/access/keys.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { AGENTS } from '../kit/agents.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { createIssuerKey, startTokenIssuer, type TokenIssuer } from '../kit/token-issuer.ts';

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly error: {
    readonly code?: number;
    readonly message?: string;
    readonly data?: { readonly code?: string };
  };
}

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** One request as it is; several values of a header are several lines. */
function ask(url: string, method: string, headers: Headers, body = ''): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const sent = Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : [...value],
    ]);
    const options = { method, headers: Object.fromEntries(sent), agent: false };
    const request = httpRequest(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const json = text.startsWith('{') ? JSON.parse(text) : {};
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          error: json.error ?? {},
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

const VERSION = '2026-07-28';
const LIST = JSON.stringify({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/list',
  params: { _meta: { [META.version]: VERSION, [META.capabilities]: {} } },
});
const POST = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': VERSION,
  'mcp-method': 'tools/list',
};
const nowSeconds = () => Math.floor(Date.now() / 1_000);

describe('what a client is told that is not let in', () => {
  const scope = new AsyncDisposableStack();
  let issuer: TokenIssuer;
  let up: ScriptedHttp;
  let gateway: StartedGateway;
  const metadata = (path = '/mcp') => `${gateway.origin}/.well-known/oauth-protected-resource${path}`;
  const list = (headers: Headers, url = gateway.url) => ask(url, 'POST', { ...POST, ...headers }, LIST);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  beforeAll(async () => {
    issuer = scope.use(await startTokenIssuer());
    up = scope.use(await startHttpUpstream({ id: 'up', tools: ['echo'] }));
    gateway = scope.use(
      await startGateway({
        listen: { allowedOrigins: ['https://app.example.com'] },
        auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, scopes: ['mcp', 'tools'] } },
        legacySse: { enabled: true },
        upstreams: { up: up.config },
      }),
    );
    await gateway.gateway.settled();
  });

  afterAll(() => scope.disposeAsync());

  const good = () => issuer.token(gateway.url, { claims: { scope: 'tools mcp' } });

  it('lets in whoever has a good token', async () => {
    const { status, text } = await list(bearer(await good()));
    expect(status).toBe(200);
    expect(text).toContain('up.echo');
  });

  it.each(['POST', 'GET', 'DELETE', 'PUT', 'PATCH'])(
    'C-057: %s of every endpoint without a token is answered 401, and where to get one',
    async (method) => {
      for (const path of ['/mcp', '/mcp/up', '/sse', '/sse/up']) {
        const body = method.startsWith('P') ? LIST : '';
        const { status, headers, error } = await ask(`${gateway.origin}${path}`, method, POST, body);
        expect({ path, status }).toEqual({ path, status: 401 });
        expect(headers['www-authenticate']).toBe(
          `Bearer scope="mcp tools", resource_metadata="${metadata(path)}"`,
        );
        expect(error).toEqual({
          code: -32600,
          message: 'A token or a key is needed here.',
          data: { code: 'TOKEN_MISSING' },
        });
      }
    },
  );

  const BAD: Readonly<Record<string, () => Promise<Headers> | Headers>> = {
    malformed: () => bearer('nonsense'),
    'cut short': async () => bearer((await good()).slice(0, -20)),
    expired: async () =>
      bearer(await issuer.token(gateway.url, { claims: { scope: 'mcp tools', exp: nowSeconds() - 40 } })),
    'for another audience': async () =>
      bearer(await issuer.token('https://other.example/mcp', { claims: { scope: 'mcp tools' } })),
    'for one server alone': async () =>
      bearer(await issuer.token(`${gateway.url}/up`, { claims: { scope: 'mcp tools' } })),
    'of another issuer': async () =>
      bearer(await issuer.token(gateway.url, { claims: { iss: 'https://evil.example' } })),
    'of a stranger': async () => bearer(await issuer.token(gateway.url, { key: await createIssuerKey() })),
    'alg none': () => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const claims = { iss: issuer.issuer, aud: gateway.url, sub: 'ann', exp: 4e9, scope: 'mcp tools' };
      return bearer(`${part({ alg: 'none' })}.${part(claims)}.`);
    },
    'longer than 16 KiB': () => bearer('x'.repeat(17_000)),
  };

  it.each(Object.keys(BAD))(
    'a token that is %s: 401 invalid_token, and the reason in the log alone',
    async (what) => {
      const headers = (await BAD[what]?.()) ?? {};
      const before = gateway.logged.length;
      const heard = await list(headers);
      expect(heard.status).toBe(401);
      expect(heard.headers['www-authenticate']).toBe(
        `Bearer error="invalid_token", scope="mcp tools", resource_metadata="${metadata()}"`,
      );
      expect(heard.error).toEqual({
        code: -32600,
        message: 'The token or key is not valid here; get a new one.',
        data: { code: 'TOKEN_INVALID' },
      });
      const line = JSON.stringify(gateway.logged.slice(before));
      expect(line).toMatch(/"logged":"[^"]+"/);
      for (const piece of String(headers['authorization']).slice(7).split('.')) {
        expect(piece.length < 8 || !line.includes(piece.slice(0, 24)), line).toBe(true);
      }
    },
  );

  it('more headers than any request needs: 431, and no word of why', async () => {
    const heard = await list(bearer('x'.repeat(60_000)));
    expect(heard.status).toBe(431);
    expect(heard.text).not.toMatch(/at .*\.[jt]s/);
  });

  it.each([
    ['two tokens', async () => ({ authorization: [`Bearer ${await good()}`, 'Bearer x'] })],
    [
      'one token twice',
      async () => ({ authorization: [`Bearer ${await good()}`, `Bearer ${await good()}`] }),
    ],
    ['a token and a key', async () => ({ ...bearer(await good()), 'x-api-key': 'x' })],
    ['two keys', async () => ({ 'x-api-key': ['x', 'y'] })],
  ])('%s: 400 invalid_request', async (_, headersOf) => {
    const { status, headers, error } = await list(await headersOf());
    expect(status).toBe(400);
    expect(headers['www-authenticate']).toContain('error="invalid_request"');
    expect(error.data?.code).toBe('CREDENTIALS_AMBIGUOUS');
  });

  it('a token in the address is none', async () => {
    const token = await good();
    const { status, headers } = await list({}, `${gateway.url}?access_token=${token}`);
    expect(status).toBe(401);
    expect(headers['www-authenticate']).not.toContain('error=');
    expect(JSON.stringify(gateway.logged)).not.toContain(token.slice(-20));
  });

  it('a token that lacks a scope: 403 with all that every request needs', async () => {
    const { status, headers, error } = await list(
      bearer(await issuer.token(gateway.url, { claims: { scope: 'tools' } })),
    );
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toBe(
      `Bearer error="insufficient_scope", scope="mcp tools", resource_metadata="${metadata()}"`,
    );
    expect(error.data?.code).toBe('SCOPE_INSUFFICIENT');
  });

  it('an endpoint that is not there looks, to whoever is not let in, as any other', async () => {
    const nothing = `${gateway.url}/nothing`;
    expect((await list({}, nothing)).status).toBe(401);
    expect((await list(bearer(await good()), nothing)).status).toBe(404);
    for (const path of ['/a%22b', '/a%0d%0ab', '/%2e%2e', `/${'a'.repeat(33)}`]) {
      const { status, headers } = await list({}, `${gateway.url}${path}`);
      expect({ path, status }).toEqual({ path, status: 404 });
      expect(headers['www-authenticate']).toBeUndefined();
    }
  });

  describe('the metadata of the resource', () => {
    it.each([
      ['', '/mcp', ''],
      ['/mcp', '/mcp', ''],
      ['/mcp/', '/mcp', ''],
      ['/mcp/up', '/mcp/up', ': up'],
      ['/mcp/nothing', '/mcp/nothing', ': nothing'],
      ['/sse', '/sse', ''],
      ['/sse/up', '/sse/up', ': up'],
    ])('C-057: is at the well-known place + %j for everybody', async (place, path, more) => {
      const { status, headers, text } = await ask(metadata(place), 'GET', bearer('nonsense'));
      expect(status).toBe(200);
      expect(headers['content-type']).toContain('application/json');
      expect(JSON.parse(text)).toEqual({
        resource: `${gateway.origin}${path}`,
        authorization_servers: [issuer.issuer],
        scopes_supported: ['mcp', 'tools'],
        bearer_methods_supported: ['header'],
        resource_name: `patchbay${more}`,
      });
    });

    it.each(['/x', '/mcp/a/b', '/mcp/A', '/healthz', '/mcp/a%22'])('is not at %s', async (place) => {
      expect((await ask(metadata(place), 'GET', {})).status).toBe(404);
    });

    it.each([{ host: 'evil.example' }, { host: 'localhost:1' }, { origin: 'https://evil.example' }])(
      'is not for pages and names that are refused anyway: %j',
      async (headers) => {
        const { status, text } = await ask(metadata(), 'GET', headers);
        expect(status).toBe(403);
        expect(text).not.toContain(issuer.issuer);
      },
    );
  });

  describe('C-093: a page in a browser', () => {
    const origin = 'https://app.example.com';
    const asked = 'authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-param-region';

    it.each(['/mcp', '/mcp/up', '/sse', '/.well-known/oauth-protected-resource/mcp'])(
      'is told before any sign-in that it may ask %s',
      async (path) => {
        const { status, headers } = await ask(`${gateway.origin}${path}`, 'OPTIONS', {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': asked,
        });
        expect(status).toBe(204);
        expect(headers['access-control-allow-origin']).toBe(origin);
        for (const name of asked.split(', ')) {
          expect(headers['access-control-allow-headers']).toContain(name);
        }
        expect(headers['www-authenticate']).toBeUndefined();
      },
    );

    it('can read why it was refused, and the metadata', async () => {
      const refused = await list({ origin });
      expect(refused.status).toBe(401);
      expect(refused.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' });
      expect(refused.headers['access-control-expose-headers']).toMatch(/WWW-Authenticate/i);
      expect(refused.headers['access-control-expose-headers']).toMatch(/Mcp-Session-Id/i);
      const read = await ask(metadata(), 'GET', { origin });
      expect(read).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } });
      expect(read.headers['access-control-allow-credentials']).toBeUndefined();
    });

    it('of a foreign origin is told nothing', async () => {
      const { status, headers } = await ask(gateway.url, 'OPTIONS', { origin: 'https://evil.example' });
      expect(status).toBe(403);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    });
  });
});

describe('C-057: a gateway behind a proxy', () => {
  it('names the public URL alone, whatever the request says of itself', async () => {
    await using issuer = await startTokenIssuer();
    await using gateway = await startGateway({
      listen: { publicUrl: 'https://gw.example/team/mcp' },
      auth: { mode: 'jwt', jwt: { issuer: issuer.issuer } },
      upstreams: {},
    });
    const wellKnown = '/.well-known/oauth-protected-resource';
    const forwarded = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    for (const host of ['gw.example', `127.0.0.1:${gateway.port}`]) {
      const refused = await ask(gateway.url, 'POST', { ...POST, ...forwarded, host }, LIST);
      expect(refused.headers['www-authenticate']).toBe(
        `Bearer resource_metadata="https://gw.example${wellKnown}/team/mcp"`,
      );
      for (const place of ['', '/mcp', '/team/mcp']) {
        const { text } = await ask(`${gateway.origin}${wellKnown}${place}`, 'GET', { ...forwarded, host });
        expect(JSON.parse(text)).toMatchObject({ resource: 'https://gw.example/team/mcp' });
      }
    }
    const statusWith = async (audience: string) => {
      const authorization = `Bearer ${await issuer.token(audience)}`;
      return (await ask(gateway.url, 'GET', { authorization })).status;
    };
    expect(await statusWith('https://gw.example/team/mcp')).toBe(405);
    expect(await statusWith(gateway.url)).toBe(401);
  });
});

describe.each(AGENTS)('a call of a $era client that needs one more scope', ({ connect }) => {
  it.each(['application/json, text/event-stream', 'application/json', 'text/event-stream'])(
    'is answered 403 with all that it needs, to a client that accepts %s',
    async (accept) => {
      await using issuer = await startTokenIssuer();
      await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
      await using gateway = await startGateway({
        auth: { mode: 'jwt', jwt: { issuer: issuer.issuer, scopes: ['mcp'] } },
        access: [{ who: { anyone: true }, allow: ['up.*'], scopes: ['write', 'read'] }],
        upstreams: { up: up.config },
      });
      await gateway.gateway.settled();
      const token = (scope: string) => issuer.token(gateway.url, { claims: { scope } });
      const authorization = `Bearer ${await token('read mcp')}`;
      await using agent = await connect(gateway.url, { headers: { authorization } });
      expect(await agent.names()).toEqual(['up.echo']);
      const call = { name: 'up.echo', arguments: {} };
      const refused = await agent.request('tools/call', call, { id: 'seven', headers: { accept } });
      expect(refused).toMatchObject({
        status: 403,
        error: { code: -32600, data: { code: 'SCOPE_INSUFFICIENT' } },
      });
      expect(refused.messages).toMatchObject([{ id: 'seven' }]);
      expect(refused.headers['www-authenticate']).toBe(
        `Bearer error="insufficient_scope", scope="mcp write read", resource_metadata="${gateway.origin}/.well-known/oauth-protected-resource/mcp"`,
      );
      expect(up.count('tools/call')).toBe(0);
      const wider = { authorization: `Bearer ${await token('write read mcp')}` };
      expect((await agent.request('tools/call', call, { headers: wider })).status).toBe(200);
    },
  );
});

describe('an authorization server that cannot be reached', () => {
  it('is answered 503 with a time to come again, never 401', async () => {
    await using issuer = await startTokenIssuer();
    await using gateway = await startGateway({
      auth: { mode: 'jwt', jwt: { issuer: issuer.issuer } },
      upstreams: {},
    });
    const authorization = `Bearer ${await issuer.token(gateway.url)}`;
    await issuer.down();
    const { status, headers, error } = await ask(gateway.url, 'POST', { ...POST, authorization }, LIST);
    expect(status).toBe(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(headers['www-authenticate']).toBeUndefined();
    expect(error.data?.code).toBe('AUTH_UNAVAILABLE');
    expect((await ask(gateway.url, 'POST', POST, LIST)).status).toBe(401);
    await issuer.up();
  });
});

describe('keys', () => {
  it('have a plain challenge, no metadata, and let in in both forms', async () => {
    const { key, sha256 } = newKey();
    await using up = await startHttpUpstream({ id: 'up', tools: ['echo'] });
    await using gateway = await startGateway({
      auth: { mode: 'keys', keys: [{ id: 'ann', sha256 }] },
      upstreams: { up: up.config },
    });
    await gateway.gateway.settled();
    const list = (headers: Headers) => ask(gateway.url, 'POST', { ...POST, ...headers }, LIST);
    expect(await list({})).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(await list({ 'x-api-key': `${key}x` })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
    expect((await list({ 'x-api-key': key, authorization: `Bearer ${key}` })).status).toBe(400);
    for (const headers of [{ 'x-api-key': key }, { authorization: `bearer ${key}` }]) {
      expect(await list(headers)).toMatchObject({ status: 200, text: expect.stringContaining('up.echo') });
    }
    const { status } = await ask(`${gateway.origin}/.well-known/oauth-protected-resource/mcp`, 'GET', {});
    expect(status).toBe(404);
    expect(JSON.stringify(up.received)).not.toContain(key.slice(4));
    expect(JSON.stringify(gateway.logged)).not.toContain(key.slice(4, 20));
  });
});
