import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/catalog/snapshot.ts';
import { suggestions } from '../../../src/catalog/suggestions.ts';
import { readableResult } from '../../../src/cli/content.ts';
import { jsonFault } from '../../../src/cli/json-fault.ts';
import { counted, forTerminal, oneLine, table } from '../../../src/cli/text.ts';

describe('lines', () => {
  it.each([
    ['plain', 5],
    ['日本', 4],
    ['e\u0301', 1],
    ['👩', 2],
    ['ﾊﾛ', 2],
    ['ＡＢ', 4],
  ])('%j takes %i columns', (text, width) => {
    const [line] = table(
      [
        [text, 'x'],
        ['-'.repeat(10), ''],
      ],
      '',
    );
    expect(line).toBe(`${text}${' '.repeat(10 - width)}  x`);
  });

  it('are cut between characters, with a mark', () => {
    const cut = (line: string, width: number) => table([[line]], '', width)[0];
    expect(cut('a'.repeat(24), 24)).toBe('a'.repeat(24));
    expect(cut('a'.repeat(25), 24)).toBe(`${'a'.repeat(23)}…`);
    expect(cut('語'.repeat(20), 25)).toBe(`${'語'.repeat(12)}…`);
    expect(cut('語'.repeat(20), 24)).toBe(`${'語'.repeat(11)}…`);
    expect(cut(`${'a'.repeat(22)} ${'b'.repeat(9)}`, 24)).toBe(`${'a'.repeat(22)}…`);
  });

  it('hold nothing that moves a cursor or turns the reading order', () => {
    expect(oneLine(' a\u001b[31mb\u001b[0m\r\n\tc\u202ed\u0007 ')).toBe('ab cd');
    expect(forTerminal('a\u001b[2Jb\n\tc\u202e\r\n')).toBe('ab\n\tc\n');
  });

  it('are aligned as a table, the last cell cut to the width', () => {
    const rows = [
      ['a', 'long', 'x'.repeat(40)],
      ['日本', '', 'y'],
    ];
    expect(table(rows, '> ')).toEqual([`> a     long  ${'x'.repeat(40)}`, '> 日本        y']);
    expect(table(rows, '> ', 40)[0]).toBe(`> a     long  ${'x'.repeat(25)}…`);
    expect(table(rows, '> ', 10)[0]).toHaveLength(14 + 20);
  });

  it('count in singular and plural', () => {
    expect([counted(0, 'tools'), counted(1, 'tools'), counted(2, 'tools')]).toEqual([
      '0 tools',
      '1 tool',
      '2 tools',
    ]);
  });
});

describe('the place where a text stops being JSON', () => {
  it.each([
    ['', '1:1 it ends where a value should be'],
    ['{"a": 1', '1:8 it ends where "," or "}" should be'],
    ['{"a": 1,}', '1:9 a name in double quotes should be here'],
    ['{a: 1}', '1:2 a name in double quotes or "}" should be here'],
    ["{'a': 1}", '1:2 a name in double quotes or "}" should be here'],
    ['{"a" 1}', '1:6 ":" should be here'],
    ['[1 2]', '1:4 "," or "]" should be here'],
    ['[1,]', '1:4 a value should be here'],
    ['{"a": [}', '1:8 a value or "]" should be here'],
    ['{"a":\n  tru}', '2:3 a value should be here'],
    ['{"a": 01}', '1:8 "," or "}" should be here'],
    ['{"a": "b}', '1:7 the string that starts here does not end, or'],
    ['{"a": "\\x"}', '1:7 the string that starts here does not end, or'],
    ['{"a": "line\nbreak"}', '1:7 the string that starts here does not end, or'],
    ['{} x', '1:4 something follows the value'],
    ['{}}', '1:3 something follows the value'],
    ['NaN', '1:1 a value should be here'],
    [']', '1:1 a value should be here'],
  ])('%j', (text, expected) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    const fault = jsonFault(text);
    expect(`${fault?.line}:${fault?.column} ${fault?.message}`).toContain(expected);
  });

  it.each(['{}', ' [1, -2.5e+3, "\\u00e9\\n", {"": [[]]}, true, false, null]\n', '"\u007f😀"', '0'])(
    'is nowhere in %j',
    (text) => {
      expect(() => JSON.parse(text)).not.toThrow();
      expect(jsonFault(text)).toBeUndefined();
    },
  );
});

describe('a result', () => {
  it('is its texts, and one line for everything else', () => {
    const content = [
      { type: 'text', text: 'one\ntwo' },
      { type: 'image', data: 'A'.repeat(4096), mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA' },
      { type: 'resource_link', uri: 'note://one', name: 'one', mimeType: 'text/plain' },
      { type: 'resource', resource: { uri: 'note://two', mimeType: 'text/plain', text: 'inside' } },
      { type: 'resource', resource: { uri: 'note://three', blob: 'AAA=' } },
      { type: 'hologram', data: 1 },
      7,
    ];
    expect(readableResult({ content }).split('\n')).toEqual([
      'one',
      'two',
      '[image: image/png, 3.0 KiB]',
      '[audio: 3 bytes]',
      '[link: note://one, one, text/plain]',
      '[resource: note://two, text/plain]',
      'inside',
      '[resource: note://three, 2 bytes]',
      '[hologram: 28 bytes of JSON]',
      '[unknown content]',
    ]);
  });

  it('is its structured content where it has no other', () => {
    expect(readableResult({ content: [], structuredContent: { a: 1 } })).toBe('{\n  "a": 1\n}');
    expect(readableResult({ structuredContent: [1] })).toBe('[\n  1\n]');
    expect(readableResult({})).toBe('');
  });
});

describe('suggestions', () => {
  const entries = ['files.read', 'files.write', 'notes.read', 'notes.re-read', 'git.log'].map(
    (dotted): Entry => {
      const [upstream = '', original = ''] = dotted.split('.');
      const exposed = { dotted, strict: dotted.replace('.', '__'), bare: original };
      return { kind: 'tools', upstream, original, exposed, item: {} };
    },
  );

  it.each([
    ['read', ['files.read', 'notes.read', 'notes.re-read']],
    ['files.raed', ['files.read']],
    ['wirte', ['files.write']],
    ['GIT', ['git.log']],
    ['quite-another', []],
    ['', []],
  ])('for %j are %j', (word, expected) => {
    expect(suggestions(word, entries, 'dotted')).toEqual(expected);
  });

  it('are in the style of the gateway', () => {
    expect(suggestions('write', entries, 'strict')).toEqual(['files__write']);
  });
});
