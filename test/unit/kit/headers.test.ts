import { describe, expect, it } from 'vitest';
import {
  decodeHeader,
  encodeHeader,
  headerFault,
  headerMarks,
  parameterHeaders,
} from '../../fixtures/upstreams/scripted-http-headers.ts';

// The table of the specification, 2026-07-28: basic/transports/streamable-http, Value Encoding.
describe('header values', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['a b', 'a b'],
    ['', '=?base64??='],
  ])('%j travels as %s', (value, encoded) => {
    expect(encodeHeader(value)).toBe(encoded);
    expect(decodeHeader(encoded)).toBe(value);
  });
});

describe('C-103: marks in schemas', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      place: { type: 'object', properties: { zone: { type: 'integer', 'x-mcp-header': 'Zone' } } },
    },
  };

  it('are found at any depth of properties', () => {
    expect(headerMarks(schema)).toEqual([
      { path: ['region'], header: 'Region' },
      { path: ['place', 'zone'], header: 'Zone' },
    ]);
    const args = { region: 'süd', place: { zone: 42 } };
    expect(parameterHeaders(schema, args)).toEqual({
      'mcp-param-region': '=?base64?c8O8ZA==?=',
      'mcp-param-zone': '42',
    });
    expect(parameterHeaders(schema, { region: null })).toEqual({});
  });

  it('are demanded of a call', () => {
    const script = { tools: [{ name: 't', inputSchema: schema }] };
    const params = { name: 't', arguments: { region: 'x' } };
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': '=?base64?dA==?=', 'mcp-param-region': 'x' };
    expect(headerFault(script, { method: 'tools/call', params }, headers)).toBeUndefined();
    const wrong = { ...headers, 'mcp-param-region': 'y' };
    expect(headerFault(script, { method: 'tools/call', params }, wrong)).toBe('mcp-param-region');
  });
});
