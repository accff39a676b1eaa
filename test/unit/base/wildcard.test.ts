import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reachOf, wildcard } from '../../../src/base/wildcard.ts';

describe('wildcard', () => {
  it.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['**', 'any thing', true],
    ['github.create_issue', 'github.create_issue', true],
    ['github.create_issue', 'github.create_issues', false],
    ['github.create_issue', 'GitHub.create_issue', false],
    ['github.*', 'github.', true],
    ['github.*', 'github.a.b', true],
    ['github.*', 'githubs.a', false],
    ['*.delete', 'files.delete', true],
    ['*.delete', 'files.old.delete', true],
    ['*.delete', 'files.delete.all', false],
    ['a*c*e', 'abcde', true],
    ['a*c*e', 'ace', true],
    ['a*c*e', 'acd', false],
    ['*b*', 'abc', true],
    ['*aab', 'aaaab', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a?c', 'a?c', true],
    ['a*c', 'a*c', true],
    ['?', '😀', true],
    ['??', '😀', false],
    ['*?', '', false],
    ['*?😀', 'a😀😀', true],
    ['é', 'e\u0301', false],
    ['[a-z]', 'b', false],
    ['a.c', 'abc', false],
    ['(a+)+$', '(a+)+$', true],
    ['\\d', '7', false],
    ['files.file:///data/*', 'files.file:///data/a b.txt', true],
    ['__proto__', '__proto__', true],
    ['constructor*', 'constructor.prototype', true],
  ])('%j and %j: %s', (pattern, text, expected) => {
    expect(wildcard(pattern)(text)).toBe(expected);
  });

  it('agrees with a regular expression that says the same, on any text', () => {
    const sign = fc.constantFrom('a', 'b', '.', '😀', '*', '?', '\n');
    const texts = fc.array(sign, { maxLength: 12 }).map((signs) => signs.join(''));
    const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    const same = (pattern: string) =>
      new RegExp(
        `^${[...pattern].map((each) => (each === '*' ? '.*' : each === '?' ? '.' : escaped(each))).join('')}$`,
        'su',
      );
    fc.assert(
      fc.property(texts, texts, (pattern, text) => wildcard(pattern)(text) === same(pattern).test(text)),
      { numRuns: 5_000 },
    );
  });

  it('needs no more steps than pattern times text, where a regular expression would never end', () => {
    const bomb = wildcard(`${'*a'.repeat(500)}*b`);
    expect(bomb(`${'a'.repeat(8_000)}c`)).toBe(false);
    expect(bomb(`${'a'.repeat(8_000)}b`)).toBe(true);
    const signs = wildcard(`${'*?a'.repeat(500)}b`);
    expect(signs(`${'a'.repeat(8_000)}c`)).toBe(false);
  });
});

describe('reachOf', () => {
  it.each([
    ['*', 'all'],
    ['**', 'all'],
    ['files.*', 'all'],
    ['file*', 'all'],
    ['*.*', 'all'],
    ['?iles.*', 'all'],
    ['*s.*', 'all'],
    ['files.a*', 'some'],
    ['files.a', 'some'],
    ['*.a', 'some'],
    ['f*a', 'some'],
    ['files?a', 'some'],
    ['files.', 'none'],
    ['files', 'none'],
    ['file.*', 'none'],
    ['filess.*', 'none'],
    ['github.*', 'none'],
    ['', 'none'],
    ['?', 'none'],
  ])('%j reaches %s of what begins with "files."', (pattern, expected) => {
    expect(reachOf(pattern, 'files.')).toBe(expected);
  });

  it('never says less than what matches', () => {
    const pattern = fc
      .array(fc.constantFrom('f', 'x', '.', '*', '?'), { maxLength: 8 })
      .map((s) => s.join(''));
    const rest = fc
      .array(fc.constantFrom('f', 'x', '.'), { minLength: 1, maxLength: 6 })
      .map((s) => s.join(''));
    fc.assert(
      fc.property(pattern, rest, (text, name) => {
        const matched = wildcard(text)(`f.${name}`);
        const reach = reachOf(text, 'f.');
        return matched ? reach !== 'none' : reach !== 'all';
      }),
      { numRuns: 5_000 },
    );
  });
});
