import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { SILENT } from '../../../src/base/log.ts';
import type { Entry } from '../../../src/catalog/snapshot.ts';
import { ArgumentCheck } from '../../../src/vetting/arguments.ts';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';

const entry = (inputSchema: unknown): Entry => ({
  kind: 'tools',
  upstream: 'up',
  original: 'find',
  exposed: { dotted: 'up.find', strict: 'up__find', bare: 'find' },
  item: { name: 'find', inputSchema },
});

const enforcing = new ArgumentCheck({
  schemas: new CompiledSchemas(),
  upstream: () => ({ validate: { arguments: 'enforce', results: 'warn' } }),
  log: SILENT,
});

/** The lines of a refusal, without the first and the last; [] where there is none. */
function problems(schema: JsonObject, given: unknown): readonly string[] {
  return lines(schema, given).slice(1, -1);
}

function lines(schema: JsonObject, given: unknown): readonly string[] {
  const judged = enforcing.judge(entry({ type: 'object', ...schema }), 'up.find', given);
  if (judged.kind !== 'refused') {
    return [];
  }
  expect(judged.refusal['isError']).toBe(true);
  const [block] = judged.refusal['content'] as readonly { readonly text: string }[];
  return block?.text.split('\n') ?? [];
}

const PROPERTIES = {
  path: { type: 'string', minLength: 1 },
  limit: { type: 'integer', minimum: 1, maximum: 10 },
  mode: { enum: ['fast', 'deep'] },
  filter: {
    type: 'object',
    properties: { tags: { type: 'array', items: { type: 'string' } }, 'odd name': { type: 'null' } },
    additionalProperties: false,
  },
  when: { anyOf: [{ type: 'string', pattern: '^\\d{4}$' }, { type: 'null' }] },
  shape: {
    oneOf: [
      {
        type: 'object',
        properties: { kind: { const: 'circle' }, r: { type: 'number' } },
        required: ['kind', 'r'],
      },
      {
        type: 'object',
        properties: { kind: { const: 'square' }, a: { type: 'number' } },
        required: ['kind', 'a'],
      },
    ],
  },
};
const FIND = { properties: PROPERTIES, required: ['path'], additionalProperties: false };

describe('a refusal says for each problem where it is, what was expected and what came', () => {
  it.each<[unknown, readonly string[]]>([
    [{ path: 'a', limit: 3, mode: 'deep', filter: { tags: ['x'] }, when: null }, []],
    [undefined, ['- path: required, but missing']],
    [null, ['- path: required, but missing']],
    ['path', ['- (arguments): expected an object, got the string "path"']],
    [[], ['- (arguments): expected an object, got an empty array']],
    [
      { pth: 'a' },
      ['- path: required, but missing', '- pth: there is no such name here; did you mean "path"?'],
    ],
    [{ path: 'a', colour: 1 }, ['- colour: there is no such name here']],
    [{ path: 5 }, ['- path: expected a string, got the number 5']],
    [{ path: '' }, ['- path: expected characters: at least 1, got 0']],
    [{ path: 'a', limit: 'ten' }, ['- limit: expected an integer, got the string "ten"']],
    [{ path: 'a', limit: 1.5 }, ['- limit: expected an integer, got the number 1.5']],
    [{ path: 'a', limit: 11 }, ['- limit: expected at most 10, got the number 11']],
    [{ path: 'a', mode: 'slow' }, ['- mode: expected one of "fast", "deep", got the string "slow"']],
    [{ path: 'a', filter: { tags: ['x', 2] } }, ['- filter.tags[1]: expected a string, got the number 2']],
    [{ path: 'a', filter: { 'odd name': 1 } }, ['- filter["odd name"]: expected null, got the number 1']],
    [
      { path: 'a', filter: { tgas: [] } },
      ['- filter.tgas: there is no such name here; did you mean "tags"?'],
    ],
    [{ path: 'a', when: 7 }, ['- when: expected a string; or null, got the number 7']],
    [
      { path: 'a', when: 'soon' },
      ['- when: expected a text that matches ^\\d{4}$; or null, got the string "soon"'],
    ],
    [{ path: 'a', shape: { kind: 'circle' } }, ['- shape.r: required, but missing']],
    [
      { limit: 0, mode: 1 },
      [
        '- path: required, but missing',
        '- limit: expected at least 1, got the number 0',
        '- mode: expected one of "fast", "deep", got the number 1',
      ],
    ],
  ])('%j', (given, expected) => {
    expect(problems(FIND, given)).toEqual(expected);
  });

  it('names the tool as the client does, and the arguments that there are', () => {
    const told = lines(FIND, {});
    expect(told[0]).toBe(
      'The arguments do not fit the input schema of up.find, so it was not called. Correct them and call it again:',
    );
    expect(told.at(-1)).toBe(
      'Its arguments are: path (string, required), limit (integer from 1 up to 10), mode ("fast" or "deep"), filter (object), when (string or null), shape (object).',
    );
  });

  it('a reference is told as what it leads to, and one that leads to itself ends', () => {
    const $defs = { id: { type: 'integer' }, list: { type: 'array', items: { $ref: '#/$defs/list' } } };
    const schema = {
      properties: { id: { $ref: '#/$defs/id' }, all: { $ref: '#/$defs/list' } },
      required: ['id'],
      $defs,
    };
    expect(lines(schema, {}).at(-1)).toMatch(
      /^Its arguments are: id \(integer, required\), all \(array of array/,
    );
  });
});

describe('a refusal is bounded, whatever schema and arguments are', () => {
  it('ten problems, forty names', () => {
    const names = Array.from({ length: 500 }, (_, at) => `argument_${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const told = lines({ properties }, Object.fromEntries(names.map((name) => [name, 1])));
    expect(told).toHaveLength(12);
    expect(told.at(-1)).toMatch(/argument_39 \(string\) and 460 more\.$/);
  });

  it('long texts and names are cut, and what is invisible is shown', () => {
    const properties = { a: { enum: Array.from({ length: 5_000 }, (_, at) => `choice ${at}`) } };
    const given = { a: `\u202e${'x'.repeat(1e6)}`, ['y'.repeat(1e6)]: 1 };
    const told = lines({ properties, additionalProperties: false }, given);
    expect(told.join('\n').length).toBeLessThan(2_000);
    expect(told.join()).toContain('U+202E');
    expect(told.join()).toContain('and 4980 more');
  });

  it('a deep alternative tells of one place, and does not try all of them', () => {
    let schema: JsonObject = { type: 'null' };
    for (let level = 0; level < 7; level += 1) {
      schema = { type: 'object', properties: { a: { anyOf: [schema, schema, schema] } }, required: ['a'] };
    }
    expect(lines(schema, { a: { a: { a: 1 } } }).length).toBeLessThan(20);
  });
});

it('arguments are not changed, not even by defaults', () => {
  const given = Object.freeze({ path: 'a' });
  const schema = { properties: { path: { type: 'string' }, limit: { type: 'integer', default: 5 } } };
  expect(problems(schema, given)).toEqual([]);
  expect(given).toEqual({ path: 'a' });
});
