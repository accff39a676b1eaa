import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf } from '../../../src/base/cost.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { LongText, whole, writeJson } from '../../../src/base/long-text.ts';
import { keepCredential, scrub } from '../../../src/base/secrets.ts';
import { codecFor } from '../../../src/protocol/codec.ts';
import { readJsonBytes } from '../../../src/protocol/json-bytes.ts';
import { readJson } from '../../../src/protocol/json-text.ts';

const LARGE = 8_388_608;
const RUNS = { numRuns: 40 };
const serverInfo = { name: 'gateway', version: '1' };

/** Text of many kinds, long enough to stay bytes. */
const longText = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), fc.integer({ min: 0, max: 9_000 }))
  .map(([unit, length]) => unit.repeat(Math.ceil(length / unit.length)));
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    longText,
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.constantFrom('text', 'data', 'blob', 'uri', 'content', 'resource', '__proto__', 'type', 'x'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value;
const message = fc
  .record({
    jsonrpc: fc.constant('2.0'),
    id: fc.integer(),
    result: fc.dictionary(
      fc.constantFrom(
        'content',
        'contents',
        'messages',
        'structuredContent',
        '_meta',
        'resultType',
        'ttlMs',
        'x',
      ),
      value,
      { maxKeys: 5 },
    ),
    params: fc.dictionary(fc.constantFrom('arguments', 'name', 'content'), value, { maxKeys: 3 }),
    error: value,
  })
  .map((parts) => ({ ...parts, filler: ' '.repeat(9_000) }));
/** How a peer may write it: with escapes where none are needed, and blanks. */
const written = fc.tuple(message, fc.boolean(), fc.boolean()).map(([each, escapes, blanks]) => {
  const text = JSON.stringify(each, undefined, blanks ? 1 : undefined);
  return escapes
    ? text
        .replaceAll('/', '\\/')
        .replaceAll(/[\u007f-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text;
});

function read(bytes: Buffer): JsonObject {
  const found = readJsonBytes(bytes, LARGE);
  return (found.kind === 'value' ? found.value : {}) as JsonObject;
}

const echo = (text: string, more: object = {}) =>
  Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }], ...more } }),
  );
const textOf = (from: JsonObject) => (from['result'] as { content: { text: unknown }[] }).content[0]?.text;

describe('a message that is read as bytes', () => {
  it('is what it is as text, whichever way it is looked at or written', () => {
    fc.assert(
      fc.property(written, (text) => {
        const plain: unknown = JSON.parse(text);
        const fast = read(Buffer.from(text));
        expect(whole(fast)).toEqual(plain);
        expect(JSON.stringify(fast)).toBe(JSON.stringify(plain));
        const parts = writeJson(fast);
        expect(JSON.parse(parts.toString())).toEqual(plain);
        expect(typeof parts === 'string' ? parts : parts.toBuffer().toString()).toBe(parts.toString());
      }),
      RUNS,
    );
  });

  it.each(['2025-06-18', '2026-07-28'])('becomes the same answer of version %s', (version) => {
    const codec = codecFor(version);
    fc.assert(
      fc.property(written, (text) => {
        const encode = (result: unknown) =>
          codec.encodeResult('tools/call', result as JsonObject, { serverInfo });
        const slow = encode((JSON.parse(text) as JsonObject)['result']);
        const fast = encode(read(Buffer.from(text))['result']);
        expect(JSON.parse(writeJson(fast).toString())).toEqual(JSON.parse(JSON.stringify(slow)));
      }),
      RUNS,
    );
  });

  it('is refused for what it would be refused for as text, whatever is wrong with it', () => {
    const wrong = fc.tuple(
      fc.nat(),
      fc.constantFrom(...Buffer.from('"\\\n{}[]:,\u0000ux'), 0x80, 0xff, 0xc3),
    );
    fc.assert(
      fc.property(written, fc.array(wrong, { maxLength: 3 }), (text, faults) => {
        const bytes = Buffer.from(text);
        for (const [at, byte] of faults) {
          bytes[at % bytes.length] = byte;
        }
        const slow = readJson(bytes.toString('utf8'), LARGE);
        const fast = readJsonBytes(bytes, LARGE);
        expect(fast.kind).toBe(slow.kind);
        expect(fast.kind === 'value' && whole(fast.value)).toEqual(slow.kind === 'value' && slow.value);
      }),
      RUNS,
    );
  });

  it('keeps the bytes of long texts, and of nothing that is read on its way', () => {
    const long = 'größe "M"\n'.repeat(2_000);
    const fast = read(echo(long));
    expect(textOf(fast)).toBeInstanceOf(LongText);
    expect(writeJson(fast)).not.toBeTypeOf('string');
    const { result } = read(echo(long, { structuredContent: [{ a: long }] }));
    expect((result as { structuredContent: { a: unknown }[] }).structuredContent[0]?.a).toBeInstanceOf(
      LongText,
    );
    for (const other of [
      { params: { name: long, uri: long, arguments: { ok: 1 }, _meta: { text: long } } },
      { result: { content: [{ uri: long }], tools: [{ text: long }], text: long, error: { data: long } } },
      { error: { message: long, data: { text: long } } },
      { result: [[{ text: long }]], text: long },
    ]) {
      const json = JSON.stringify({ jsonrpc: '2.0', id: 1, ...other });
      expect(readJsonBytes(Buffer.from(json), LARGE)).toEqual({ kind: 'value', value: JSON.parse(json) });
      expect(writeJson(read(Buffer.from(json)))).toBe(json);
    }
  });

  it.each<[string, (long: string) => object, boolean]>([
    ['a later item of an array', (long) => ({ params: { arguments: ['x', long] } }), true],
    [
      'a member of an object that comes after another',
      (long) => ({ params: { arguments: [{ a: 1, b: long }] } }),
      true,
    ],
    ['a name', (long) => ({ params: { arguments: { [long]: 1 } } }), false],
    ['a member beside the content, after it', (long) => ({ result: { content: [], text: long } }), false],
    ['a text after all that is read', (long) => ({ result: { content: [{}] }, text: long }), false],
    [
      'a text in a list that is no content',
      (long) => ({ result: { content: [{}], tools: [{ text: long }] } }),
      false,
    ],
    ['inherited members of a table', (long) => ({ params: { constructor: { text: long } } }), false],
    ['an object of the name of a table', (long) => ({ constructor: { name: { text: long } } }), false],
  ])('leaves a long text where it may: %s', (_name, of, kept) => {
    const long = 'größe "M"\n'.repeat(2_000);
    const message = { jsonrpc: '2.0', id: 1, ...of(long) };
    const fast = read(Buffer.from(JSON.stringify(message)));
    expect(whole(fast)).toEqual(message);
    expect(whole(fast) !== fast).toBe(kept);
  });

  it('is text where it is too deep to be looked at, or no UTF-8', () => {
    const long = 'x'.repeat(9_000);
    const deep = `{"params":{"arguments":${'['.repeat(64)}"${long}"${']'.repeat(64)}}}`;
    expect(readJsonBytes(Buffer.from(deep), LARGE)).toEqual({ kind: 'value', value: JSON.parse(deep) });
    const broken = echo(long);
    broken[broken.indexOf('xxx') + 1] = 0xff;
    expect(textOf(read(broken))).toBe(`x\ufffd${long.slice(2)}`);
  });

  it.each([
    ['\u0001', false],
    ['\\x', false],
    ['\\u12g4', false],
    ['\\u12A4', true],
    ['\\/', true],
  ])('is JSON with %j in a long text: %j', (signs, is) => {
    const json = `{"params":{"arguments":{"text":"${'x'.repeat(9_000)}${signs}${'x'.repeat(20)}"}}}`;
    expect(readJsonBytes(Buffer.from(json), LARGE).kind).toBe(is ? 'value' : 'not-json');
    expect(readJson(json, LARGE).kind).toBe(is ? 'value' : 'not-json');
  });

  it('may be written while another is, and looks like itself to whoever writes it by other means', () => {
    const long = 'größe'.repeat(3_000);
    const fast = read(echo(long));
    const outer = writeJson({
      before: fast,
      inner: { toJSON: () => writeJson(fast).toString() },
      after: fast,
    });
    const plain = JSON.parse(echo(long).toString()) as object;
    expect(JSON.parse(outer.toString())).toEqual({
      before: plain,
      inner: JSON.stringify(plain),
      after: plain,
    });
    expect(JSON.parse(JSON.stringify(fast))).toEqual(plain);
  });

  it('counts in budgets with all that it holds', () => {
    const long = 'größe'.repeat(10_000);
    expect(costOf(read(echo(long)))).toBeGreaterThan(50_000);
  });

  it.each([
    'a-credential-of-somebody',
    'with "quotes" and \\ signs',
    'größe/of-the-credential',
    'line\nbreak\ttab\u0001end',
  ])('hides the credential %j however it is written', (credential) => {
    const forget = keepCredential(credential);
    const around = 'x/größe\n'.repeat(2_000);
    const json = echo(`${around}${credential}${around}`).toString();
    const escaped = json.replaceAll(/[^\0-~]|\/|c/g, (sign) =>
      sign === '/' ? '\\/' : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    for (const bytes of [json, json.replaceAll('/', '\\/'), escaped].map((text) =>
      Buffer.from(text.replace('\\u0063ontent', 'content')),
    )) {
      const [fast, slow] = [read(bytes), JSON.parse(bytes.toString()) as JsonObject];
      scrub(fast);
      scrub(slow);
      expect(whole(fast)).toEqual(slow);
      expect(writeJson(fast).toString()).not.toContain(JSON.stringify(credential).slice(1, -1));
      expect(textOf(slow)).toBe(`${around}[secret]${around}`);
    }
    forget();
  });
});
