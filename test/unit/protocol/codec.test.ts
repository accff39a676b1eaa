import { describe, expect, it } from 'vitest';
import { GatewayError, UpstreamRpcError } from '../../../src/base/errors.ts';
import { codecFor, wireError } from '../../../src/protocol/codec.ts';
import { META } from '../../../src/protocol/meta.ts';

const legacy = codecFor('2025-11-25');
const modern = codecFor('2026-07-28');
const serverInfo = { name: 'patchbay', version: '1' };
const envelope = {
  clientInfo: { name: 'c', version: '1' },
  clientCapabilities: { roots: {} },
  logLevel: 'info',
};

describe('C-101: results towards clients', () => {
  const full = {
    content: [],
    structuredContent: { n: null },
    vendor: 1,
    resultType: 'complete',
    ttlMs: 5,
    cacheScope: 'public',
  };

  it('lose what only the modern era knows, and nothing else, for a legacy client', () => {
    const from = { ...full, _meta: { [META.serverInfo]: serverInfo, 'x/y': 1 } };
    expect(legacy.encodeResult('tools/call', from, { serverInfo })).toEqual({
      content: [],
      structuredContent: { n: null },
      vendor: 1,
      _meta: { 'x/y': 1 },
    });
    expect(
      legacy.encodeResult('tools/call', { content: [], _meta: { [META.serverInfo]: 1 } }, { serverInfo }),
    ).toEqual({ content: [] });
  });

  it.each([[[1, { n: 2 }]], [0], ['x'], [null], [true]])(
    'have structured content of any kind for a modern client, and objects alone for a legacy one: %j',
    (structuredContent) => {
      const content = [{ type: 'image', data: '', mimeType: 'image/png' }];
      const text = [{ type: 'text', text: JSON.stringify(structuredContent) }];
      for (const [said, heard] of [
        [content, content],
        [[], text],
        [undefined, text],
      ]) {
        const result = { ...(said === undefined ? {} : { content: said }), structuredContent, vendor: 1 };
        for (const method of ['tools/call', 'tasks/result']) {
          expect(legacy.encodeResult(method, result, { serverInfo })).toEqual({ content: heard, vendor: 1 });
        }
        expect(modern.encodeResult('tools/call', result, { serverInfo })).toMatchObject(result);
        expect(legacy.encodeResult('prompts/get', result, { serverInfo })).toEqual(result);
      }
    },
  );

  it('carry type, hints and server info for a modern client', () => {
    const made = modern.encodeResult(
      'tools/list',
      { tools: [] },
      { serverInfo, hints: { ttlMs: 12.7, scope: 'public' } },
    );
    expect(made).toEqual({
      tools: [],
      resultType: 'complete',
      ttlMs: 12,
      cacheScope: 'public',
      _meta: { [META.serverInfo]: serverInfo },
    });
  });

  it.each([undefined, -5, 0, Number.NaN])(
    'C-053: an unknown or bad ttl (%j) counts as 0, an unknown scope as private',
    (ttlMs) => {
      const hints = { ttlMs: ttlMs as number | undefined, scope: undefined };
      expect(modern.encodeResult('resources/read', {}, { serverInfo, hints })).toMatchObject({
        ttlMs: 0,
        cacheScope: 'private',
      });
    },
  );

  it('C-053: an unfinished result carries no hints', () => {
    const asked = { resultType: 'input_required', inputRequests: {}, ttlMs: 5, cacheScope: 'public' };
    const made = modern.encodeResult('resources/read', asked, { serverInfo });
    expect(made).not.toHaveProperty('ttlMs');
    expect(made).not.toHaveProperty('cacheScope');
  });
});

describe('items of lists', () => {
  it.each([
    [{ type: 'array' }, false],
    [{ anyOf: [] }, false],
    ['text', false],
    [{ type: 'object', properties: {} }, true],
  ])('an outputSchema %j is kept for legacy clients: %j', (outputSchema, kept) => {
    const item = { name: 'a', outputSchema };
    expect(Object.hasOwn(legacy.encodeItem('tools', item), 'outputSchema')).toBe(kept);
    expect(modern.encodeItem('tools', item)).toBe(item);
  });

  it('have properties that are described by objects, for legacy clients, in the same order', () => {
    const properties: unknown = JSON.parse('{"z":true,"a":{"type":"string"},"no":false,"__proto__":true}');
    const item = {
      inputSchema: { type: 'object', properties, required: ['z'] },
      name: 'a',
      outputSchema: { type: 'object', properties: { any: true } },
    };
    expect(JSON.stringify(legacy.encodeItem('tools', item))).toBe(
      '{"inputSchema":{"type":"object","properties":{"z":{},"a":{"type":"string"},"no":{"not":{}},"__proto__":{}},' +
        '"required":["z"]},"name":"a","outputSchema":{"type":"object","properties":{"any":{}}}}',
    );
    expect(modern.encodeItem('tools', item)).toBe(item);
    const plain = { name: 'a', inputSchema: { type: 'object', properties: { a: { items: true } } } };
    expect(legacy.encodeItem('tools', plain)).toBe(plain);
    expect(legacy.encodeItem('prompts', item)).toBe(item);
  });

  it('lose `execution` for modern clients only', () => {
    const item = { name: 'a', execution: { taskSupport: 'optional' }, vendor: true };
    expect(modern.encodeItem('tools', item)).toEqual({ name: 'a', vendor: true });
    expect(legacy.encodeItem('tools', item)).toBe(item);
  });
});

describe('errors towards clients', () => {
  it.each([-32020, -32021, -32022])('%d becomes -32603 for a legacy client', (code) => {
    expect(legacy.encodeError({ code, message: 'm', data: 1 })).toEqual({
      code: -32603,
      message: 'm',
      data: 1,
    });
    expect(modern.encodeError({ code, message: 'm' }).code).toBe(code);
  });

  it('a missing resource is -32002 there and -32602 with its URI here', () => {
    expect(modern.encodeError({ code: -32002, message: 'm' }, 'u://x')).toEqual({
      code: -32602,
      message: 'm',
      data: { uri: 'u://x' },
    });
    const ours = wireError(new GatewayError('URI_UNKNOWN', { data: { uri: 'u://x' } }));
    expect(legacy.encodeError(ours, 'u://x')).toMatchObject({ code: -32002, data: { uri: 'u://x' } });
    expect(modern.encodeError(ours, 'u://x')).toMatchObject({ code: -32602, data: { uri: 'u://x' } });
  });

  it('-32042 is never sent to a modern client', () => {
    expect(modern.encodeError({ code: -32042, message: 'm' }).code).toBe(-32603);
  });

  it('an upstream’s own error passes as it is; anything foreign says nothing', () => {
    const theirs = { code: -1, message: 'theirs', data: { a: 1 } };
    expect(wireError(new UpstreamRpcError('up', theirs))).toBe(theirs);
    const foreign = wireError(new Error('connect ECONNREFUSED 10.0.0.1:80'));
    expect(JSON.stringify(foreign)).not.toContain('10.0.0.1');
    expect(foreign.code).toBe(-32603);
  });
});

describe('requests towards upstreams', () => {
  const params = {
    name: 'a',
    extra: [1],
    _meta: { progressToken: 'theirs', 'x/y': 1, [META.version]: 'old', [META.logLevel]: 'debug' },
  };

  it('carry this hop’s _meta in place of the client’s, and keep the rest', () => {
    expect(modern.encodeParams(params, envelope, 7)).toEqual({
      name: 'a',
      extra: [1],
      _meta: {
        'x/y': 1,
        [META.version]: '2026-07-28',
        [META.clientInfo]: envelope.clientInfo,
        [META.clientCapabilities]: { roots: {} },
        [META.logLevel]: 'info',
        progressToken: 7,
      },
    });
  });

  it('carry no modern member to a legacy upstream', () => {
    expect(legacy.encodeParams(params, envelope, 0)).toEqual({
      name: 'a',
      extra: [1],
      _meta: { 'x/y': 1, progressToken: 0 },
    });
    expect(legacy.encodeParams({ a: 1, _meta: { progressToken: 1 } }, envelope)).toEqual({ a: 1 });
    expect(legacy.encodeParams(undefined, envelope)).toBeUndefined();
  });
});
