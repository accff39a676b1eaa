import { describe, expect, it } from 'vitest';
import { readingsOf } from '../../../src/access/uri-readings.ts';
import { person, policyOf, subject } from './people.ts';

describe('readingsOf', () => {
  it.each([
    'file:///data/a.txt',
    'https://example.com/a/b?q=../x#../y',
    'https://example.com',
    'db://table/{id}',
    'ui://widget/chart',
    'file:///data/.hidden',
    'file:///data/...',
    'file:///data/a..b',
    'file:///data/Capital',
  ])('%s is read in one way', (uri) => {
    expect(readingsOf(uri)).toEqual([]);
  });

  it.each([
    ['file:///data/../etc/x', ['file:///etc/x']],
    ['file:///data/./x', ['file:///data/x']],
    ['file:///../../etc/x', ['file:///etc/x']],
    ['file:///data/..', ['file:///']],
    ['file:///data/%2e%2E/etc', ['file:///data/../etc', 'file:///etc']],
    ['file:///data/..%2fetc', ['file:///data/..%2Fetc', 'file:///data/../etc', 'file:///etc']],
    ['file:///data/..%5Cetc', ['file:///data/../etc', 'file:///etc']],
    ['file:///data\\..\\etc', ['file:///data/../etc', 'file:///etc']],
    ['file:///%65tc/x', ['file:///etc/x']],
    ['file:////etc/x', ['file:///etc/x']],
    ['FILE:///etc/x', ['file:///etc/x']],
    ['file://LocalHost/etc/x', ['file:///etc/x']],
    ['https://Example.COM/a', ['https://example.com/a']],
    ['repo://owner%2Fname', ['repo://owner%2fname', 'repo://owner/name']],
    ['file:///a%20b', []],
    ['file:///a%c3%bc', ['file:///a%C3%BC']],
    ['urn:%61:b', ['urn:a:b']],
    ['urn:A:b', []],
    ['%', []],
    ['notes:data/../x', ['notes:x']],
    ['notes:/data/../x', ['notes:/x']],
    ['notes:data/..%2fx', ['notes:data/..%2Fx', 'notes:data/../x', 'notes:x']],
    ['notes:../../x', ['notes:x']],
    ['NOTES:x', ['notes:x']],
    ['notes:a..b/.c', []],
    ['file:///data/.\t./etc', ['file:///data/../etc', 'file:///etc']],
    ['fi\nle:///etc/x\r', ['file:///etc/x']],
    [' file:///etc/x\u0000', ['file:///etc/x']],
    ['file:/etc/x', ['file:///etc/x']],
    ['file:etc/x', ['file:///etc/x']],
    ['file:\\etc\\x', ['file:///etc\\x', 'file:///etc/x']],
    ['file:\\\\host\\x', ['file://host\\x', 'file://host/x']],
    ['https:/h/x', ['https://h/x']],
    ['http:\\\\h/a/../x', ['http://h/a/../x', 'http://h/x']],
    ['https:///h/x', ['https://h/x']],
  ])('%s may be read as %j', (uri, expected) => {
    expect(readingsOf(uri).map((reading) => reading.uri)).toEqual(expected);
  });

  it('takes the longest that there are', () => {
    expect(readingsOf(`file:///${'../'.repeat(2_700)}etc`).map(({ uri }) => uri)).toEqual(['file:///etc']);
    expect(readingsOf(`file:///${'a/'.repeat(4_000)}`)).toEqual([]);
    expect(readingsOf(`file:///${'a/'.repeat(4_000)}%`)).toEqual([]);
  });
});

describe('a rule about URIs', () => {
  const only = policyOf('[{who: {anyone: true}, allow: ["files.file:///data/*"]}]')(person());
  const but = policyOf('[{who: {anyone: true}, deny: ["files.file:///etc/*"], allow: ["files.*"]}]')(
    person(),
  );
  const both = policyOf(
    '[{who: {anyone: true}, allow: ["files.file:///data/secret/*"], scopes: [deep]}, {who: {anyone: true}, allow: ["files.file:///data/*"]}]',
  )(person());
  const see = (access: typeof only, uri: string) => access.shows(subject(`resource files.${uri}`));

  it.each([
    'file:///data/../etc/passwd',
    'file:///data/%2e%2e/etc/passwd',
    'file:///data/..%2Fetc/passwd',
    'file:///data/..%5cetc/passwd',
    'file:///data/x/../../etc/passwd',
    'file:///data/..',
    'file:///data/.\t./etc/passwd',
    'file:///data/.\n./etc/passwd',
  ])('is not left by %s', (uri) => {
    expect(see(only, uri)).toBe(false);
  });

  it('without an authority is not left either', () => {
    const notes = policyOf('[{who: {anyone: true}, allow: ["files.notes:data/*"]}]')(person());
    expect(see(notes, 'notes:data/x')).toBe(true);
    expect(see(notes, 'notes:data/../x')).toBe(false);
    expect(see(notes, 'notes:data/..%2Fx')).toBe(false);
  });

  it.each([
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'file:////etc/passwd',
    'file://localhost/etc/passwd',
    'file:///%65tc/passwd',
    'file:///etc%2Fpasswd',
    'file:///etc\\passwd',
    'file:///et\tc/passwd',
    ' file:///etc/passwd',
    'file:/etc/passwd',
    'file:\\etc\\passwd',
    'file:etc/passwd',
    'file:///x/../etc/passwd',
    'file:///./etc/passwd',
  ])('is not got round by %s', (uri) => {
    expect(see(but, uri)).toBe(false);
  });

  it.each([
    'file:///data/a%20b',
    'file:///data/ü',
    'file:///data/x/../y',
    'file:///data/%61',
    'file:///data/a%2Fb',
  ])('lets %s pass', (uri) => {
    expect([see(only, uri), see(but, uri)]).toEqual([true, true]);
  });

  it('a way round the scopes of another rule is none', () => {
    expect(both.lacking(subject('resource files.file:///data/secret/x'))).toEqual(['deep']);
    expect(see(both, 'file:///data/x/../secret/x')).toBe(false);
    expect(see(both, 'file:///data/%73ecret/x')).toBe(false);
  });

  it('a URI that no list could hold is nobody’s, before any work is done for it', () => {
    const all = policyOf('[{who: {anyone: true}, allow: ["*"]}]')(person());
    expect(see(all, `file:///${'a'.repeat(8_184)}`)).toBe(true);
    expect(see(all, `file:///${'a'.repeat(8_185)}`)).toBe(false);
    expect(see(all, `file:///${'%2e%2e/'.repeat(1_000_000)}`)).toBe(false);
  });

  it('names of tools are texts, and read in one way', () => {
    const access = policyOf('[{who: {anyone: true}, allow: ["files.a/../b", "files.%61"]}]')(person());
    expect(access.shows(subject('tool files.a/../b'))).toBe(true);
    expect(access.shows(subject('tool files.%61'))).toBe(true);
    expect(access.shows(subject('tool files.a'))).toBe(false);
  });
});
