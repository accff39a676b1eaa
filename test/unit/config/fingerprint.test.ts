import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffSettings, runnable } from '../../../src/config/diff.ts';
import { compareFingerprints, fingerprint, isFingerprint } from '../../../src/config/fingerprint.ts';
import { lineOf } from '../../../src/config/lines.ts';
import { parse } from './kit.ts';

const KEY = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);

const upstream = fc.record({
  url: fc.constantFrom('http://a/mcp', 'http://b/mcp'),
  headers: fc.constantFrom({}, { 'X-Pin': '1' }, { 'X-Pin': '2' }),
  tools: fc.constantFrom({}, { deny: ['x'] }),
  enabled: fc.boolean(),
});
const settings = fc
  .record({
    name: fc.constantFrom('one', 'two'),
    listen: fc.constantFrom({}, { port: 4_444 }),
    lists: fc.constantFrom({}, { pageSize: 5 }),
    access: fc.constantFrom([], [{ who: { anyone: true }, allow: ['*'] }]),
    instructions: fc.constantFrom('a', 'b'),
    upstreams: fc.dictionary(fc.constantFrom('files', 'web', 'mail'), upstream),
  })
  .map((config) => parse(JSON.stringify(config)).settings);

describe('a configuration that is known by its digests alone', () => {
  it('differs where and only where the two themselves do', () => {
    fc.assert(
      fc.property(settings, settings, (before, after) => {
        const { uncompared, ...diff } = compareFingerprints(
          fingerprint(before, KEY),
          fingerprint(after, KEY),
        );
        expect(uncompared).toEqual([]);
        expect(diff).toEqual(diffSettings(before, after));
      }),
      { numRuns: 40 },
    );
  });

  it('with another sealing key never calls anything changed that is not, and says what it does not know', () => {
    fc.assert(
      fc.property(settings, settings, (before, after) => {
        const known = diffSettings(before, after);
        const diff = compareFingerprints(fingerprint(before, KEY), fingerprint(after, OTHER));
        expect([...known.upstreams.restarted, ...known.upstreams.changed]).toEqual(
          expect.arrayContaining([...diff.upstreams.restarted, ...diff.upstreams.changed]),
        );
        expect(known.changed).toEqual(expect.arrayContaining([...diff.changed]));
        expect(diff.uncompared).toContain('listen.host');
      }),
      { numRuns: 20 },
    );
  });

  it('holds no value, and nothing by which a short secret could be guessed without the key', () => {
    const of = (pin: string) =>
      parse(`upstreams: {bank: {url: "http://internal.example/mcp", headers: {X-Pin: "${pin}"}}}`).settings;
    const print = fingerprint(of('1234'), KEY);
    expect(JSON.stringify(print)).not.toMatch(/1234|internal/);
    expect(isFingerprint(JSON.parse(JSON.stringify(print)))).toBe(true);
    const [bank] = print.upstreams;
    expect(bank?.keys['headers']?.sealed).toBe(true);
    const guesses = ['1234', '1235'].map(
      (pin) => fingerprint(of(pin), OTHER).upstreams[0]?.keys['headers']?.digest,
    );
    expect(guesses).not.toContain(bank?.keys['headers']?.digest);
    expect(fingerprint(of('1234'), KEY).upstreams[0]?.keys['headers']).toEqual(bank?.keys['headers']);
  });

  it.each([
    undefined,
    {},
    { version: 2, keyId: '', keys: {}, upstreams: [] },
    { version: 1, keyId: '', keys: { a: 7 }, upstreams: [] },
  ])('%j is none', (value) => {
    expect(isFingerprint(value)).toBe(false);
  });
});

describe('lines of rules', () => {
  const rules =
    'access:\n  - { who: { anyone: true }, allow: ["a.*"] }\n  - who: { groups: [x] }\n    allow: ["*"]\n';

  it('are those of the file, also behind an alias', () => {
    const { access } = parse(`name: x\n${rules}`).settings;
    expect(access.map(lineOf)).toEqual([3, 4]);
    const aliased = parse(`x-rules: &r\n  - { who: { anyone: true }, allow: ["*"] }\naccess: *r\n`).settings;
    expect(aliased.access.map(lineOf)).toEqual([2]);
  });

  it('move with the file, though the rules stay the same objects', () => {
    const before = parse(rules).settings;
    const next = runnable(before, parse(`# one line more\n${rules}`).settings);
    expect(next.access).toBe(before.access);
    expect(next.access.map(lineOf)).toEqual([3, 4]);
  });
});
