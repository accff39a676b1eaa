import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { LongText, whole } from '../../../src/base/long-text.ts';
import { readJsonBytes } from '../../../src/protocol/json-bytes.ts';
import { asJudged } from '../../../src/vetting/blind-values.ts';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';

const LONG = 'größe "M"\n'.repeat(1_500);

/** Arguments as they come in: long texts of them are not decoded. */
function received(given: unknown): unknown {
  const read = readJsonBytes(Buffer.from(JSON.stringify({ params: { arguments: given } })), 8_388_608);
  return read.kind === 'value' ? (read.value as { params: JsonObject }).params['arguments'] : undefined;
}

const text = fc.constantFrom(LONG, `${LONG}x`, 'short', '');
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'pattern'), tie('value'), { maxKeys: 3 }),
  ),
})).value;
const keyword = fc.oneof(
  fc.constantFrom(
    { type: 'string' },
    { type: ['string', 'array'] },
    { minLength: 1 },
    { maxLength: 20_000 },
    { maxLength: 10 },
    { pattern: 'x$' },
    { enum: [LONG, 'short'] },
    { const: LONG },
    { uniqueItems: true },
    { required: ['a'] },
    { minItems: 1 },
    { format: 'uri' },
  ),
);
const schema = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    keyword,
    fc.record({ properties: fc.record({ a: tie('schema'), b: tie('schema') }) }),
    fc.record({ additionalProperties: tie('schema') }),
    fc.record({ items: tie('schema') }),
    fc.record({ contains: tie('schema') }),
    fc.record({ not: tie('schema') }),
    fc.record({ anyOf: fc.tuple(tie('schema'), tie('schema')) }),
    fc.record({
      $defs: fc.record({ d: tie('schema') }),
      properties: fc.constant({ a: { $ref: '#/$defs/d' } }),
    }),
  ),
})).schema;

describe('arguments whose long texts nobody has read', () => {
  it('are judged as they are judged when everything is read', () => {
    const schemas = new CompiledSchemas();
    fc.assert(
      fc.property(schema, value, (of, given) => {
        const unread = received(given);
        const judged = schemas.judge(of as JsonObject, asJudged(of, unread));
        expect(judged).toEqual(schemas.judge(of as JsonObject, given));
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    [{ type: 'object', properties: { text: { type: 'string' } } }, false],
    [{ type: 'object', properties: { text: { type: 'string', format: 'uri' } } }, false],
    [{ properties: { text: { minLength: 1 } } }, true],
    [{ $defs: { text: { enum: ['x'] } } }, true],
    [undefined, true],
  ])('are read for %j: %j', (of, reads) => {
    const unread = received({ text: LONG });
    expect((unread as { text: unknown }).text).toBeInstanceOf(LongText);
    expect(asJudged(of, unread)).toEqual({ text: reads ? LONG : '' });
    expect(whole(unread)).toEqual({ text: LONG });
  });
});
