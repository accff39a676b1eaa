import { describe, expect, it } from 'vitest';
import { isMap, type YAMLMap } from 'yaml';
import { parseYaml } from '../../../src/config/yaml.ts';

function entriesAt(text: string, key: string) {
  const file = parseYaml(text);
  expect(file.faults).toEqual([]);
  const target = file.follow(file.entriesOf(file.root as YAMLMap).entries.get(key)!.value);
  const { entries, faults } = file.entriesOf(target as YAMLMap);
  const plain = [...entries].map(([name, { value }]) => [name, String(file.follow(value))]);
  return { entries: Object.fromEntries(plain), faults };
}

describe('merge keys', () => {
  it('own keys win over merged ones, wherever they stand', () => {
    expect(entriesAt('a: &a {x: 1, y: 1}\nb: {y: 2, <<: *a, z: 2}', 'b').entries).toEqual({
      x: '1',
      y: '2',
      z: '2',
    });
  });

  it('of a list of mappings, and of two merge keys, the earlier wins', () => {
    const head = 'p: &p {x: 1}\nq: &q {x: 2, y: 2}\n';
    expect(entriesAt(`${head}b: {<<: [*p, *q]}`, 'b').entries).toEqual({ x: '1', y: '2' });
    expect(entriesAt(`${head}b:\n  <<: *p\n  <<: *q`, 'b').entries).toEqual({ x: '1', y: '2' });
  });

  it('reaches one level deep and through merged mappings that merge', () => {
    const text = 'p: &p {deep: {a: 1}}\nq: &q {<<: *p, x: 1}\nb: {<<: *q, deep: {b: 2}}';
    expect(entriesAt(text, 'b').entries).toEqual({ x: '1', deep: '{"b":2}' });
  });

  it('a quoted "<<" is a key like any other', () => {
    expect(entriesAt('b: {"<<": 1}', 'b').entries).toEqual({ '<<': '1' });
  });

  it('a mapping that merges itself ends', () => {
    expect(entriesAt('b: &b {<<: *b, x: 1}', 'b')).toEqual({ entries: { x: '1' }, faults: [] });
  });

  it('many mappings that merge each other twice end soon', () => {
    const levels = Array.from(
      { length: 60 },
      (_, n) => `l${n + 1}: &l${n + 1} {<<: [*l${n}, *l${n}], k${n}: 1}`,
    );
    const { entries } = entriesAt(['l0: &l0 {k: 1}', ...levels].join('\n'), 'l60');
    expect(Object.keys(entries)).toHaveLength(61);
  });

  it('an alias stands for the last anchor of its name before it', () => {
    const { entries } = entriesAt('a: &a 1\nb: {x: *a, y: &a 2, z: *a}', 'b');
    expect(entries).toEqual({ x: '1', y: '2', z: '2' });
  });

  it('thousands of aliases are followed soon', () => {
    const aliases = Array.from({ length: 20_000 }, (_, n) => `k${n}: *a`);
    expect(Object.values(entriesAt(`a: &a 1\nb: {${aliases.join(', ')}}`, 'b').entries)).toEqual(
      Array.from(aliases, () => '1'),
    );
  });

  it('refuses what is no mapping and what has no anchor', () => {
    expect(entriesAt('a: &a 1\nb: {<<: *a}', 'b').faults).toEqual([
      { line: 2, column: 9, message: '"<<" takes a mapping or a list of mappings' },
    ]);
    expect(entriesAt('b: {<<: *late}\nlate: &late {x: 1}', 'b').faults).toEqual([
      { line: 1, column: 9, message: 'there is no such anchor before this place' },
    ]);
  });
});

it('finds repeated keys, also __proto__, and keeps the first', () => {
  const { entries, faults } = entriesAt('b: {x: 1, x: 2, __proto__: 3, __proto__: 4}', 'b');
  expect(entries['x']).toBe('1');
  expect(faults).toEqual([
    { line: 1, column: 11, message: 'this key stands here twice', key: 'x' },
    { line: 1, column: 31, message: 'this key stands here twice', key: '__proto__' },
  ]);
});

describe('syntax', () => {
  it.each([
    ['a tab', 'a:\n\tb: 1', 2, 'a tab cannot indent; use spaces'],
    ['two documents', 'a: 1\n---\nb: 1', 2, 'only one document is read; remove the "---"'],
    [
      'text after the end',
      '{"a": 1}\n// canary\n',
      2,
      'unexpected text; is it left over, or in need of quotes?',
    ],
    ['an open bracket', 'a: [canary\nb: 1', 2, 'wrong indentation, or a bracket that is not closed'],
    ['an open quote', 'a: "canary', 1, 'something is missing here: a colon, comma, quote, bracket or space'],
    ['a second colon', 'a: canary: b', 1, 'a second ": " on this line; put the value in quotes'],
    ['a bad escape', 'a: "\\canary"', 1, 'not an escape that double quotes know; use single quotes'],
    ['a reserved sign', 'a: @canary', 1, 'a value cannot begin with this sign; put it in quotes'],
    ['an unknown tag', 'a: !canary b', 1, 'an unknown tag, or one that does not fit its value'],
    ['a tag of YAML 1.1', 'a: !!binary Y2FuYXJ5', 1, 'an unknown tag, or one that does not fit its value'],
    ['a mapping as key', '{a: 1}: 2', 1, 'a key must be plain text'],
    ['a missing colon', 'a: 1\ncanary\nb: 1', 2, 'a key must stand on one line and be followed by ": "'],
    ['endless nesting', '['.repeat(50_000), 1, 'nested too deeply'],
  ])('%s is found, and the text is not repeated', (_, text, line, message) => {
    const { faults } = parseYaml(text);
    expect(faults).toContainEqual(expect.objectContaining({ line, message }));
    expect(JSON.stringify(faults)).not.toContain('canary');
  });

  it('C-080: scalars follow YAML 1.2, even where the file says 1.1', () => {
    const text = 'a: {no: no, on: on, y: y, octal: 012, sexagesimal: 1:30, 0: zero, null: ~}';
    for (const head of ['', '%YAML 1.1\n---\n']) {
      const { root } = parseYaml(head + text);
      expect(isMap(root) && root.toJSON()).toEqual({
        a: { no: 'no', on: 'on', y: 'y', octal: 12, sexagesimal: '1:30', 0: 'zero', null: null },
      });
    }
  });

  it('a byte order mark shifts no column, and an empty file is no mistake', () => {
    const { faults } = parseYaml('\uFEFFa: @x');
    expect(faults[0]).toMatchObject({ line: 1, column: 4 });
    expect(parseYaml('').faults).toEqual([]);
    expect(parseYaml('# nothing yet\n').faults).toEqual([]);
  });
});
