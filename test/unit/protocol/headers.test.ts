import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeHeaderValue,
  encodeHeaderValue,
  headerMismatch,
  sentValues,
  standardHeaders,
} from '../../../src/protocol/headers.ts';
import { META } from '../../../src/protocol/meta.ts';
import { declaredHeaders, paramHeaders, paramMismatch } from '../../../src/protocol/param-headers.ts';

/** The table of the specification (streamable-http, Value Encoding), and its neighbours. */
const ENCODED = [
  ['us-west1', 'us-west1'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['a b', 'a b'],
  ['x', 'x'],
  ['', ''],
] as const;

describe('values of mirrored headers', () => {
  it.each(ENCODED)('%j travels as %j and comes back', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });

  it.each(['=?base64?SGVsbG8?=', '=?base64?@@@@?=', 'tab\u0001', ' lead'])('%j is refused', (header) => {
    expect(decodeHeaderValue(header)).toBeUndefined();
  });
});

describe('the values of one header', () => {
  const name = fc.constantFrom('Host', 'host', 'HOST', 'Hosts', 'X-API-Key', 'x-api-key', '');
  it('are all that were sent under its name, in any case and in their order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, fc.string())),
        fc.constantFrom('host', 'x-api-key'),
        (sent, wanted) => {
          const expected = sent.filter(([each]) => each.toLowerCase() === wanted).map(([, value]) => value);
          expect(sentValues(sent.flat(), wanted)).toEqual(expected);
        },
      ),
    );
  });
});

const message = (method: string, params: Record<string, unknown>) => ({
  jsonrpc: '2.0' as const,
  id: 1,
  method,
  params: { ...params, _meta: { [META.version]: '2026-07-28' } },
});
const sound = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a.b' };
const call = message('tools/call', { name: 'a.b' });

describe('C-103: headers of a modern request against its body', () => {
  it('pass when they mirror it, encoded or not', () => {
    expect(headerMismatch(sound, call)).toBeUndefined();
    const encoded = { ...sound, 'mcp-name': `=?base64?${Buffer.from('a.b').toString('base64')}?=` };
    expect(headerMismatch(encoded, call)).toBeUndefined();
    expect(
      headerMismatch({ ...sound, 'mcp-method': 'tools/list' }, message('tools/list', {})),
    ).toBeUndefined();
  });

  it.each([
    ['no version', { 'mcp-protocol-version': undefined }],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
    ['two versions', { 'mcp-protocol-version': ['2026-07-28', '2026-07-28'] }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['a method in other case', { 'mcp-method': 'Tools/Call' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'a.c' }],
    ['a damaged name', { 'mcp-name': '=?base64?YS5i!?=' }],
  ])('fail with %s', (_what, change) => {
    expect(headerMismatch({ ...sound, ...change }, call)).toMatch(/^Mcp|^MCP/);
  });

  it('are built from the body towards an upstream', () => {
    expect(standardHeaders('tools/call', { name: 'ü' })).toEqual({
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?w7w=?=',
    });
    expect(standardHeaders('tools/list', {})).toEqual({ 'mcp-method': 'tools/list' });
  });
});

const schema = (properties: unknown) => ({ type: 'object', properties });
const region = { type: 'string', 'x-mcp-header': 'Region' };

describe('C-103: x-mcp-header', () => {
  it('is found on plain properties, nested ones too', () => {
    const declared = declaredHeaders(
      schema({ region, deep: schema({ size: { type: 'integer', 'x-mcp-header': 'Size' } }) }),
    );
    expect(declared).toEqual({
      valid: true,
      headers: [
        { name: 'Region', path: ['region'] },
        { name: 'Size', path: ['deep', 'size'] },
      ],
    });
  });

  it.each([
    ['empty', schema({ a: { type: 'string', 'x-mcp-header': '' } })],
    ['no token', schema({ a: { type: 'string', 'x-mcp-header': 'a b' } })],
    ['a line break', schema({ a: { type: 'string', 'x-mcp-header': 'a\r\nb' } })],
    ['on a number', schema({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['on an object', schema({ a: { type: 'object', 'x-mcp-header': 'A' } })],
    ['twice, but for case', schema({ a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } })],
    ['below items', schema({ a: { type: 'array', items: region } })],
    ['below anyOf', schema({ a: { anyOf: [region] } })],
    ['in $defs', { ...schema({}), $defs: { a: region } }],
    ['on the root', { ...schema({}), 'x-mcp-header': 'Root' }],
  ])('is invalid when it is %s', (_what, inputSchema) => {
    expect(declaredHeaders(inputSchema)).toMatchObject({ valid: false });
  });

  it('is no mark inside data', () => {
    expect(declaredHeaders(schema({ a: { const: { 'x-mcp-header': 'No' } } }))).toEqual({
      valid: true,
      headers: [],
    });
  });

  const marks = [{ name: 'Region', path: ['region'] }];
  it.each([
    [{ region: 'eu' }, { 'mcp-param-region': 'eu' }],
    [{ region: 42 }, { 'mcp-param-region': '42' }],
    [{ region: true }, { 'mcp-param-region': 'true' }],
    [{ region: 'ü' }, { 'mcp-param-region': '=?base64?w7w=?=' }],
    [{ region: null }, {}],
    [{}, {}],
    [undefined, {}],
  ])('makes of %j the headers %j', (args, headers) => {
    expect(paramHeaders(marks, args)).toEqual(headers);
  });

  it.each([
    [{ region: 'eu' }, 'eu', true],
    [{ region: 'eu' }, '=?base64?ZXU=?=', true],
    [{ region: 'eu' }, '=?base64?dXM=?=', false],
    [{ region: 'eu' }, 'EU', false],
    [{ region: 'eu' }, undefined, false],
    [{ region: 42 }, '42.0', true],
    [{ region: 42 }, '42', true],
    [{ region: 42 }, '43', false],
    [{ region: 42 }, '0x2a', false],
    [{ region: null }, undefined, true],
    [{ region: null }, 'eu', false],
    [{}, undefined, true],
    [{}, 'eu', false],
  ])('with arguments %j and header %j: fits is %j', (args, header, fits) => {
    const mismatch = paramMismatch(marks, args, { 'mcp-param-region': header });
    expect(mismatch === undefined).toBe(fits);
  });
});
