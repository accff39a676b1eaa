import fc from 'fast-check';
import { expect, it } from 'vitest';
import { whole } from '../../../src/base/long-text.ts';
import { readJsonBytes } from '../../../src/protocol/json-bytes.ts';
import { parseData, readJson } from '../../../src/protocol/json-text.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** What is written of what was read, by both ways of reading. */
function written(text: string): string {
  const [one, other] = [readJson(text, MOST_BYTES), readJsonBytes(Buffer.from(text), MOST_BYTES)];
  if (one.kind !== 'value' || other.kind !== 'value') {
    throw new Error(`not read: ${text}`);
  }
  expect(JSON.stringify(other.value)).toBe(JSON.stringify(one.value));
  return JSON.stringify(one.value);
}

const call = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`;
const answer = (content: string) =>
  `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":${content},"content":[]}}`;

it.each([
  '12345678901234567890',
  '-9223372036854775808',
  '0.1234567890123456789',
  '1e400',
  '-1.5E+999',
  '1234567890.12345678901',
  '123456789012345678e-3',
])('%s stays as it was written in what belongs to others', (number) => {
  for (const text of [
    call(`{"id":${number}}`),
    call(`{"a":[{"b":[1,${number}]}],"t":"x, ${number}","n":${number}}`),
    answer(`{"__proto__":${number},"x":{"\\"":[${number},"\\\\"]}}`),
    answer(`[${number}]`),
    `{"jsonrpc":"2.0","id":1,"result":{"taskId":"t","result":{"structuredContent":{"n":${number}}}}}`,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":{"q":{"content":{"n":${number}}}}}}`,
    `[${call(`{"id":${number}}`)},${call('{}')}]`,
    call(`{"id":${number},"t":"${'long '.repeat(2_000)}"}`),
  ]) {
    expect(written(text)).toBe(text);
  }
});

it.each([
  ['the protocol’s own', `{"jsonrpc":"2.0","id":1,"result":{"total":12345678901234567890}}`],
  [
    'a list’s',
    `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"inputSchema":{"maximum":9223372036854775807}}]}}`,
  ],
  [
    'a number that is the same',
    call('{"a":[9007199254740992,1.5,100000000000000000000,0.30000000000000004]}'),
  ],
  ['too many', answer(`[${'12345678901234567890,'.repeat(10_000)}12345678901234567890]`)],
])('%s is what JavaScript makes of it', (_, text) => {
  expect(written(text)).toBe(JSON.stringify(JSON.parse(text)));
});

it('checks see the nearest number', () => {
  const read = readJson(call('{"id":12345678901234567890,"more":[1e400,-1e400]}'), MOST_BYTES);
  const nearest = { id: 12_345_678_901_234_567_000, more: [Number.MAX_VALUE, -Number.MAX_VALUE] };
  expect(read.kind === 'value' && whole(read.value)).toEqual(JSON.parse(call(JSON.stringify(nearest))));
});

it('whatever else is in a message is as it would be without such a number', () => {
  const digits = fc.stringMatching(/^-?[1-9][0-9]{16,30}$/);
  fc.assert(
    fc.property(fc.jsonValue(), digits, fc.string(), (value, number, name) => {
      const rest = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
      const text = call(`{"big number":${number},${rest}}`);
      fc.pre(name !== 'big number');
      // JavaScript puts members that are called as numbers first.
      const expected = JSON.stringify(JSON.parse(call(`{"big number":"NUMBER",${rest}}`))).replace(
        '"NUMBER"',
        number,
      );
      expect(written(text)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

it('a text that is data as a whole keeps all of them', () => {
  const text = '{"id":12345678901234567890,"more":[1e400,{"arguments":-9223372036854775808}]}';
  expect(JSON.stringify(parseData(text))).toBe(text);
  expect(parseData('12345678901234567890')).toBe(12_345_678_901_234_567_000);
  expect(() => parseData('{"id":12345678901234567890')).toThrow(SyntaxError);
});
