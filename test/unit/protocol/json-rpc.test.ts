import { describe, expect, it } from 'vitest';
import { classify } from '../../../src/protocol/json-rpc.ts';

const message = (members: object) => classify({ jsonrpc: '2.0', id: 1, ...members });

describe('members that are null, as peers write that know them all', () => {
  it.each([
    [{ result: { a: 1 }, error: null }, { result: { a: 1 } }],
    [{ result: { a: 1 }, error: null, method: null }, { result: { a: 1 } }],
    [{ result: null, error: { code: -1, message: 'no' } }, { error: { code: -1, message: 'no' } }],
    [{ result: {}, error: { code: -1, message: 'no' } }, { error: { code: -1, message: 'no' } }],
  ])('%j is the response that it means, and nothing else', (members, meant) => {
    const found = message(members);
    expect(found).toEqual({ kind: 'response', message: { jsonrpc: '2.0', id: 1, ...meant } });
  });

  it('of a request stay, where they say nothing', () => {
    expect(message({ method: 'ping', params: null, result: null, error: null }).kind).toBe('request');
  });
});

it.each([1.5, '-32000', null, 1e21, undefined])('%j is no code of an error', (code) => {
  expect(message({ error: { code, message: 'no' } }).kind).toBe('invalid');
});

it('a response keeps what nobody knows, and is the same object where it is in order', () => {
  const sound = { jsonrpc: '2.0', id: 1, result: {}, future: 1 };
  const found = classify(sound);
  expect(found.kind === 'response' && found.message).toBe(sound);
});
