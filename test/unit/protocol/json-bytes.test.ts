import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf } from '../../../src/base/cost.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { LongText, whole, writeJson } from '../../../src/base/long-text.ts';
import { type Bytes, Pieces } from '../../../src/base/pieces.ts';
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

function read(bytes: Bytes): JsonObject {
  const found = readJsonBytes(bytes, LARGE);
  return (found.kind === 'value' ? found.value : {}) as JsonObject;
}

/** The same bytes in one, or cut at these places. */
const cuts = fc.option(fc.array(fc.nat(), { minLength: 1, maxLength: 6 }));
function cut(bytes: Buffer, at: readonly number[] | null): Bytes {
  if (at === null) {
    return bytes;
  }
  const ends = [0, ...at.map((each) => each % bytes.length), bytes.length].toSorted(
    (one, other) => one - other,
  );
  return new Pieces(ends.slice(1).map((end, index) => bytes.subarray(ends[index], end)));
}

const echo = (text: string, more: object = {}) =>
  Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }], ...more } }),
  );
const textOf = (from: JsonObject) => (from['result'] as { content: { text: unknown }[] }).content[0]?.text;

describe('a message that is read as bytes', () => {
  it('is what it is as text, whichever way it is looked at or written', () => {
    fc.assert(
      fc.property(written, cuts, (text, at) => {
        const plain: unknown = JSON.parse(text);
        const fast = read(cut(Buffer.from(text), at));
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
      fc.property(written, cuts, (text, at) => {
        const encode = (result: unknown) =>
          codec.encodeResult('tools/call', result as JsonObject, { serverInfo });
        const slow = encode((JSON.parse(text) as JsonObject)['result']);
        const fast = encode(read(cut(Buffer.from(text), at))['result']);
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
      fc.property(written, cuts, fc.array(wrong, { maxLength: 3 }), (text, at, faults) => {
        const bytes = Buffer.from(text);
        for (const [where, byte] of faults) {
          bytes[where % bytes.length] = byte;
        }
        const slow = readJson(bytes.toString('utf8'), LARGE);
        const fast = readJsonBytes(cut(bytes, at), LARGE);
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
    expect(typeof outer !== 'string' && [...outer].filter((part) => typeof part !== 'string')).toHaveLength(
      2,
    );
    expect(JSON.parse(outer.toString())).toEqual({
      before: plain,
      inner: JSON.stringify(plain),
      after: plain,
    });
    expect(JSON.parse(JSON.stringify(fast))).toEqual(plain);
  });

  it('is written right by whoever writes a part of it as text, and by the next after one that failed', () => {
    const long = 'größe'.repeat(3_000);
    const fast = read(echo(long));
    const plain = JSON.parse(echo(long).toString()) as object;
    const quoted = writeJson({ fast, quoted: { toJSON: () => JSON.stringify(fast) } });
    expect(JSON.parse(quoted.toString())).toEqual({ fast: plain, quoted: JSON.stringify(plain) });
    expect(() => writeJson({ fast, fails: 1n })).toThrow(TypeError);
    expect(JSON.parse(JSON.stringify(fast))).toEqual(plain);
  });

  it('keeps members of every name', () => {
    const long = 'größe'.repeat(3_000);
    const json = `{"jsonrpc":"2.0","id":1,"params":{"arguments":{"__proto__":${JSON.stringify(long)},"a":["${long}"]}}}`;
    const fast = read(Buffer.from(json));
    expect(writeJson(fast)).not.toBeTypeOf('string');
    expect(writeJson(fast).toString()).toBe(json);
    expect(JSON.stringify(whole(fast))).toBe(json);
    expect(Object.getPrototypeOf((fast as { params: JsonObject }).params['arguments'])).toBe(
      Object.prototype,
    );
  });

  it.each(['', '"', '\\', '\\u00'])('is no JSON where its last string ends with %j', (end) => {
    const long = 'x'.repeat(9_000);
    for (const json of [
      `{"params":{"arguments":{"a":"${long}","b":"${long}${end}`,
      `{"params":{"arguments":{"a":"${long}${end}`,
    ]) {
      expect(readJsonBytes(Buffer.from(json), LARGE).kind).toBe(readJson(json, LARGE).kind);
      expect(readJsonBytes(cut(Buffer.from(json), [5_000, 9_500]), LARGE).kind).toBe('not-json');
    }
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
    const escaped = json.replaceAll(
      /[^\0-~]|c/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    const slashed = [json, escaped].map((text) => text.replaceAll('/', '\\/'));
    for (const bytes of [json, escaped, ...slashed].map((text) =>
      Buffer.from(text.replace('\\u0063ontent', 'content')),
    )) {
      const inside = bytes.indexOf(JSON.stringify(credential).slice(1, 5)) + 2;
      const [fast, slow] = [read(cut(bytes, [inside])), JSON.parse(bytes.toString()) as JsonObject];
      scrub(fast);
      scrub(slow);
      expect(whole(fast)).toEqual(slow);
      expect(writeJson(fast).toString()).not.toContain(JSON.stringify(credential).slice(1, -1));
      expect(textOf(slow)).toBe(`${around}[secret]${around}`);
    }
    // JSON in a text, where it is escaped twice.
    const [fast, slow] = [read, (bytes: Buffer) => JSON.parse(bytes.toString()) as JsonObject].map(
      (reads) => {
        const found = reads(echo(JSON.stringify({ around, credential })));
        scrub(found);
        return whole(found);
      },
    );
    expect(fast).toEqual(slow);
    expect(JSON.stringify(fast)).toContain('[secret]');
    forget();
  });
});
