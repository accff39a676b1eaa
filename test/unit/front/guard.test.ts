import { describe, expect, it } from 'vitest';
import { acceptedForms, type GuardRule, judgeRequest, preflightHeaders } from '../../../src/front/guard.ts';

const loopback: GuardRule = {
  host: '127.0.0.1',
  port: 3333,
  allowedHosts: [],
  allowedOrigins: [],
  publicUrl: undefined,
};
const everywhere: GuardRule = { ...loopback, host: '0.0.0.0' };
const named: GuardRule = {
  ...everywhere,
  allowedHosts: ['gateway:3333', 'mcp.example.com'],
  allowedOrigins: ['https://app.example.com'],
  publicUrl: 'https://public.example.com/mcp',
};
const plain: GuardRule = { ...everywhere, publicUrl: 'http://plain.example.com' };
const ported: GuardRule = { ...everywhere, publicUrl: 'https://public.example.com:8443/mcp' };
const refused = (headers: Record<string, string | undefined>, rule: GuardRule) =>
  judgeRequest(headers, rule).refusal?.code;

describe('C-092: hosts', () => {
  it.each<[string, string | undefined, GuardRule, boolean]>([
    ['loopback name, right port', 'localhost:3333', loopback, true],
    ['loopback address, right port', '127.0.0.1:3333', loopback, true],
    ['IPv6 loopback, right port', '[::1]:3333', loopback, true],
    ['in capitals', 'LOCALHOST:3333', loopback, true],
    ['wrong port', 'localhost:9999', loopback, false],
    ['no port', 'localhost', loopback, false],
    ['a name', 'evil.example', loopback, false],
    ['a name with our port', 'evil.example:3333', loopback, false],
    ['a name that begins like ours', '127.0.0.1.evil.example:3333', loopback, false],
    ['missing', undefined, loopback, false],
    ['empty', '', loopback, false],
    ['a name, bound everywhere', 'evil.example', everywhere, false],
    ['an address, bound everywhere', '10.0.0.5:3333', everywhere, true],
    ['loopback with a mapped port, bound everywhere', 'localhost:8080', everywhere, true],
    ['allowed with port', 'gateway:3333', named, true],
    ['allowed name, another port', 'gateway:8080', named, false],
    ['allowed without port, any port', 'mcp.example.com:8443', named, true],
    ['the public name', 'public.example.com', named, true],
    ['the public name with the port of https', 'public.example.com:443', named, true],
    ['the public name with that of http', 'public.example.com:80', named, false],
    ['a public name over http, with its port', 'plain.example.com:80', plain, true],
    ['a public name with a port of its own', 'public.example.com:8443', ported, true],
    ['the same without', 'public.example.com', ported, false],
    ['the same with that of https', 'public.example.com:443', ported, false],
  ])('%s', (_what, host, rule, passes) => {
    expect(refused({ host }, rule)).toBe(passes ? undefined : 'HOST_REFUSED');
  });

  it('never looks at forwarded headers', () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'localhost:3333',
      forwarded: 'host=localhost:3333',
    };
    expect(refused(headers, loopback)).toBe('HOST_REFUSED');
  });
});

describe('C-092, C-093: origins', () => {
  it.each<[string, string | undefined, GuardRule, boolean]>([
    ['none', undefined, loopback, true],
    ['the very server', 'http://127.0.0.1:3333', loopback, true],
    ['another loopback port', 'http://127.0.0.1:6274', loopback, false],
    ['a site', 'https://evil.example', loopback, false],
    ['null', 'null', loopback, false],
    ['allowed', 'https://app.example.com', named, true],
    ['allowed name, another port', 'https://app.example.com:8443', named, false],
    ['the public URL', 'https://public.example.com', named, true],
  ])('%s', (_what, origin, rule, passes) => {
    const host = rule === named ? 'gateway:3333' : '127.0.0.1:3333';
    const verdict = judgeRequest({ host, origin }, rule);
    expect(verdict.refusal?.code).toBe(passes ? undefined : 'ORIGIN_REFUSED');
    expect(verdict.headers['access-control-allow-origin']).toBe(passes ? origin : undefined);
    expect(verdict.headers['vary']).toBe(origin === undefined ? undefined : 'Origin');
  });

  it('lets a browser send every MCP header, and the parameter headers it asks for, and nothing it made up', () => {
    const asked =
      'authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-param-region, x-evil, last-event-id';
    const headers =
      preflightHeaders({ 'access-control-request-headers': asked })['access-control-allow-headers'] ?? '';
    const names = headers.split(', ');
    expect(names).toEqual(
      expect.arrayContaining([
        'authorization',
        'content-type',
        'mcp-session-id',
        'mcp-method',
        'mcp-name',
        'last-event-id',
        'mcp-param-region',
      ]),
    );
    expect(names).not.toContain('x-evil');
    expect(names).not.toContain('*');
  });
});

describe('Accept', () => {
  it.each([
    [undefined, true, true],
    ['application/json, text/event-stream', true, true],
    ['text/event-stream,application/json;q=0.9', true, true],
    ['*/*', true, true],
    ['application/json', true, false],
    ['text/event-stream', false, true],
    ['text/html', false, false],
    ['', false, false],
  ])('%j allows JSON: %j, streams: %j', (accept, json, sse) => {
    expect(acceptedForms(accept)).toEqual({ json, sse });
  });

  it('is read the same the second time, also after many others', () => {
    const texts = Array.from({ length: 200 }, (_, at) => `text/html;level=${at}, application/json`);
    for (const accept of [...texts, ...texts]) {
      expect(acceptedForms(accept)).toEqual({ json: true, sse: false });
    }
    expect(acceptedForms('text/html')).toEqual({ json: false, sse: false });
  });
});
