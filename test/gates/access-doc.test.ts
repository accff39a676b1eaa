import { describe, expect, it } from 'vitest';
import { createPolicy, type Subject } from '../../src/access/policy.ts';
import { person, subject } from '../unit/access/people.ts';
import { parse } from '../unit/config/kit.ts';
import { textOf } from './repository.ts';

/** The examples of docs/access.md: each loads, and each table below one says what its rules really say. */

const PAGE = textOf('docs/access.md');
const examples = [...PAGE.matchAll(/^```yaml\n(.*?)^```$/gms)].map(({ 0: whole, 1: yaml = '', index }) => {
  const after = PAGE.slice(index + whole.length).split('```yaml')[0] ?? '';
  return { yaml, rows: rowsOf(after) };
});

/** Rows under `| groups | scopes | asks for | gets |`. */
function rowsOf(text: string): readonly (readonly string[])[] {
  const [, table = ''] = text.split('| groups | scopes | asks for | gets |\n| --- | --- | --- | --- |\n');
  const [rows = ''] = table.split('\n\n');
  return rows
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const words = (cell = '') => cell.split(' ').filter((word) => word !== '');

/** `tool files.x (destructive)`: with the hint that the tool says of itself. */
function asked(cell = ''): Subject {
  const [, what = '', hint] = /^(.*?)(?: \((\w+)\))?$/.exec(cell) ?? [];
  return subject(what, hint === undefined ? undefined : { [`${hint}Hint`]: true });
}

it('there are as many examples as the page has sections that need one', () => {
  expect(examples.map(({ rows }) => rows.length)).toEqual([13, 3, 0, 0]);
});

describe.each(examples)('example $#', ({ yaml, rows }) => {
  it('is a configuration', () => {
    expect(Object.keys(parse(yaml).settings.upstreams).length).toBeGreaterThan(0);
  });

  it.each(rows)('%s %s asks for %s: %s', (groups, scopes, what, gets) => {
    const access = createPolicy(parse(yaml).settings)(
      person({ groups: words(groups), scopes: words(scopes) }),
    );
    const item = asked(what);
    const lacking = access.lacking(item);
    const answer = access.shows(item)
      ? lacking.length === 0
        ? 'it'
        : `403: ${lacking.join(' ')}`
      : 'nothing: unknown';
    expect(answer).toBe(gets);
  });
});
