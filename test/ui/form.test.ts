import { describe, expect, it } from 'vitest';
import { draftOf, readDraft } from '../../src/ui/draft.ts';
import { fieldOf } from '../../src/ui/field.ts';
import { piecesOf, plain } from '../../src/ui/visible.ts';

describe('a form from a schema', () => {
  it.each([
    [{ type: 'string' }, 'text'],
    [{ type: ['integer', 'null'] }, 'number'],
    [{ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, 'boolean'],
    [{ const: 'one' }, 'choice'],
    [{ oneOf: [{ const: 1, title: 'One' }, { const: 2 }] }, 'choice'],
    [{ type: 'array', items: { type: 'string' } }, 'list'],
    [{ properties: { a: true } }, 'object'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
    [{ type: 'array' }, 'json'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'json'],
    [{ $ref: 'https://example.com/schema' }, 'json'],
    [{ $ref: '#/$defs/none' }, 'json'],
    [{ $ref: '#' }, 'json'],
    [true, 'json'],
    ['nonsense', 'json'],
  ])('%j is a field of the kind %s', (schema, kind) => {
    expect(fieldOf(schema).kind).toBe(kind);
  });

  it('ends for schemas that hold themselves', () => {
    const schema = { type: 'object', properties: { child: { $ref: '#' } } };
    expect(JSON.stringify(fieldOf(schema)).length).toBeLessThan(2_000);
  });

  it('sends what was typed, and leaves out what was not', () => {
    const field = fieldOf({
      type: 'object',
      required: ['name', 'on', '__proto__'],
      properties: Object.fromEntries([
        ['name', { type: 'string' }],
        ['on', { type: 'boolean' }],
        ['maybe', { type: 'boolean' }],
        ['note', { type: 'string' }],
        ['size', { type: 'integer', default: 3 }],
        ['where', { type: 'object', required: ['x'], properties: { x: { type: 'number' } } }],
        ['tags', { type: 'array', items: { enum: ['a', 'b'] } }],
        ['__proto__', { const: 7 }],
      ]),
    });
    const read = readDraft(field, draftOf(field, true), true);
    expect(read.problems).toEqual([]);
    expect(JSON.stringify(read.value)).toBe('{"name":"","on":false,"size":3,"__proto__":7}');

    const given = { name: 'n', on: true, maybe: false, where: { x: 1.5 }, tags: ['b', 'a'], size: 1 };
    expect(readDraft(field, draftOf(field, true, given), true).value).toMatchObject(given);
  });

  it('says what is wrong, and where', () => {
    const field = fieldOf({
      type: 'object',
      required: ['n', 'c'],
      properties: {
        n: { type: 'integer' },
        c: { enum: [1, 2] },
        'a/b': { type: 'array', items: { type: 'number' } },
        j: {},
      },
    });
    const draft = { n: '1.5', c: '', 'a/b': ['1', 'x'], j: '{' };
    expect(readDraft(field, draft, true).problems.map(({ place }) => place)).toEqual([
      '/n',
      '/c',
      '/a~1b/1',
      '/j',
    ]);
  });
});

describe('texts of others', () => {
  it('have no sign in them that nobody sees', () => {
    expect(plain('a\u202Eb\u200Bc\u0007d\uD800e\u3164\u{E0041}')).toBe(
      'a[U+202E]b[U+200B]c[U+0007]d[U+D800]e[U+3164][U+E0041]',
    );
    expect(piecesOf('x\u2066y')).toEqual(['x', { code: 'U+2066' }, 'y']);
  });

  it('keep lines, other scripts, and emoji that are joined', () => {
    const text = 'naïve\n\tשלום 你好 👩‍💻 👍🏽 é';
    expect(piecesOf(text)).toEqual([text]);
  });
});
