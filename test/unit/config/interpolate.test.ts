// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { describe, expect, it } from 'vitest';
import { expand } from '../../../src/config/interpolate.ts';

const files: Record<string, string> = { '/run/secrets/token': 'from file\r\n\n', inner: '${env:TOK}' };
const sources = {
  env: { TOK: 's3cret', EMPTY: '', TRICKY: '${HOME} $& $$ $1 ${env:TOK} $${', NEWLINE: 'a\nb: c' },
  readFile: (path: string) => {
    const content = files[path];
    if (content === undefined) {
      throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
    }
    return content;
  },
};
const run = (text: string) => expand(text, sources);

describe('C-079: references', () => {
  it.each([
    ['${env:TOK}', 's3cret'],
    ['Bearer ${env:TOK}', 'Bearer s3cret'],
    ['${env:TOK}${env:TOK}!', 's3crets3cret!'],
    ['${env:UNSET:-http://127.0.0.1:9/mcp}', 'http://127.0.0.1:9/mcp'],
    ['${env:UNSET:-}', ''],
    ['${env:UNSET:-a:-b}', 'a:-b'],
    ['${env:UNSET:-two\nlines}', 'two\nlines'],
    ['${env:TOK:-unused}', 's3cret'],
    ['${env:EMPTY}', ''],
    ['${env:EMPTY:-unused}', ''],
    ['${file:/run/secrets/token}', 'from file'],
    ['$${env:TOK}', '${env:TOK}'],
    ['$${', '${'],
    ['$$${env:TOK}', '$${env:TOK}'],
    ['$$ $& $1', '$$ $& $1'],
    ['$TOK {env:TOK} %TOK%', '$TOK {env:TOK} %TOK%'],
    ['', ''],
  ])('%j is %j', (text, expected) => {
    expect(run(text)).toMatchObject({ text: expected, unset: [], wrong: [] });
  });

  it('what a variable or a file holds is never looked at again', () => {
    expect(run('<${env:TRICKY}>').text).toBe('<${HOME} $& $$ $1 ${env:TOK} $${>');
    expect(run('${file:inner}').text).toBe('${env:TOK}');
    expect(run('${env:NEWLINE}').text).toBe('a\nb: c');
  });

  it('tells what came from outside, and no default', () => {
    expect(run('${env:TOK} ${file:/run/secrets/token} ${env:UNSET:-standard}').secrets).toEqual([
      's3cret',
      'from file',
    ]);
  });

  it('tells whether anything was expanded; an escape alone is not', () => {
    expect(run('${env:TOK}').expanded).toBe(true);
    expect(run('$${env:TOK} plain').expanded).toBe(false);
  });

  it('names every variable that is not set', () => {
    expect(run('${env:A} ${env:B} ${env:TOK}').unset).toEqual([
      'the variable A is not set',
      'the variable B is not set',
    ]);
  });

  it('a member that every object has is no variable', () => {
    expect(run('${env:constructor}').unset).toEqual(['the variable constructor is not set']);
  });

  it('a file that cannot be read is like a variable that is not set; the path stays out of the text', () => {
    expect(run('${file:/nowhere/at/all}').unset).toEqual(['its file cannot be read (ENOENT)']);
  });
});

describe('what is no reference is a mistake', () => {
  it.each([
    ['${TOK}', 'write ${env:TOK} for a variable, or $${ for a literal ${'],
    ['${TOK:-x}', 'write ${env:TOK:-…} for a variable, or $${ for a literal ${'],
    ['${env:}', expect.stringContaining('only ${env:NAME}')],
    ['${env:1X}', expect.stringContaining('only ${env:NAME}')],
    ['${env:TOK:x}', expect.stringContaining('only ${env:NAME}')],
    ['${file:}', expect.stringContaining('only ${env:NAME}')],
    ['${input:token}', expect.stringContaining('only ${env:NAME}')],
    ['${}', expect.stringContaining('only ${env:NAME}')],
    ['${env:TOK', 'a ${ has no closing }; write $${ for a literal one'],
    ['${env:UNSET:-${env:TOK}}', 'a reference cannot stand inside another one'],
  ])('%s', (text, message) => {
    expect(run(text).wrong).toEqual([message]);
  });
});
