import { describe, expect, it } from 'vitest';
import { exposeNames, type NamingRule, type Original, STRICT } from '../../../src/catalog/naming.ts';

const DOTTED: NamingRule = { separator: '.', maxLength: 128 };

const of = (upstream: string, name: string, namespace = upstream): Original => ({
  upstream,
  namespace,
  name,
});

/** A small generator with a seed, so that a failing round can be run again. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const namesOf = (...about: Parameters<typeof exposeNames>) => exposeNames(...about).map(({ name }) => name);

describe('exposeNames', () => {
  it('C-001: the same tool on two servers is two names', () => {
    const originals = [of('stage', 'search'), of('stage', 'run'), of('prod', 'search'), of('prod', 'run')];
    expect(namesOf(originals, DOTTED)).toEqual(['stage.search', 'stage.run', 'prod.search', 'prod.run']);
  });

  it('C-002: pairs that would give one string all get a digest, and nobody else does', () => {
    const names = namesOf([of('a', 'b.c'), of('a.b', 'c'), of('redis', 'x'), of('redis.ft', 'x')], DOTTED);
    expect(names[0]).toMatch(/^a\.b\.c_[a-z2-7]{8}$/);
    expect(names[1]).toMatch(/^a\.b\.c_[a-z2-7]{8}$/);
    expect(names[0]).not.toBe(names[1]);
    expect(names.slice(2)).toEqual(['redis.x', 'redis.ft.x']);
  });

  it('C-002: ids and names that end or begin with the separator, and an empty namespace', () => {
    const names = namesOf([of('a', '.b'), of('a.', 'b'), of('bare', 'x', ''), of('e', '.x', '')], DOTTED);
    expect(new Set(names).size).toBe(4);
    expect(names[0]).toMatch(/^a\.\.b_/);
    expect(names.slice(2)).toEqual(['x', '.x']);
  });

  it('C-003: names that one cleaning makes equal stay distinct, in any order; unclean ones pass in the dotted style', () => {
    const originals = [of('u', 'search-a'), of('u', 'search_a'), of('u', 'search a'), of('u', 'other')];
    const strict = namesOf(originals, STRICT);
    expect(new Set(strict).size).toBe(4);
    expect(strict[0]).toBe('u__search-a');
    expect(strict[1]).toMatch(/^u__search_a_[a-z2-7]{8}$/);
    expect(strict[3]).toBe('u__other');
    expect(namesOf(originals.toReversed(), STRICT)).toEqual(strict.toReversed());
    expect(namesOf([of('u', 'search a'), of('u', 'löschen/🎉')], DOTTED)).toEqual([
      'u.search a',
      'u.löschen/🎉',
    ]);
  });

  it('C-004: strict names pass the strictest pattern', () => {
    const originals = [of('files', 'read'), of('9lives', 'a.b/c'), of('u', '🎉'), of('u', 'x'.repeat(300))];
    const names = namesOf(originals, STRICT);
    for (const name of names) {
      expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,51}$/);
    }
    expect(names.slice(0, 2)).toEqual(['files__read', '_9lives__a_b_c']);
  });

  it('C-005: over-long names are cut, distinct, the same after a restart, and say why', () => {
    const id = 'a-server-id-of-24-chars-';
    const stem = 'n'.repeat(110);
    const originals = [
      of(id, 'm'.repeat(59)),
      of(id, 'k'.repeat(100)),
      of(id, stem + 'x'.repeat(18)),
      of(id, stem + 'y'.repeat(18)),
    ];
    const named = exposeNames(originals, DOTTED);
    expect(named.map((exposed) => exposed.name.length)).toEqual([84, 125, 128, 128]);
    expect(named.map((exposed) => exposed.digested)).toEqual([
      undefined,
      undefined,
      'shortened',
      'shortened',
    ]);
    expect(named[2]?.name.slice(0, 119)).toBe(`${id}.${stem}`.slice(0, 119));
    expect(named[2]?.name).not.toBe(named[3]?.name);
    // Written down once: a change here changes the names that clients have remembered.
    expect(namesOf([of('u', 'x'.repeat(130))], DOTTED)[0]).toBe(`u.${'x'.repeat(117)}_nvup2rym`);
    const alone = namesOf(originals.slice(3), DOTTED);
    expect(alone).toEqual([named[3]?.name]);
  });

  it('never cuts a character in two', () => {
    const [name = ''] = namesOf([of('u', '🎉'.repeat(80))], DOTTED);
    expect(name).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
    expect(name.length).toBe(127);
  });

  it('a tool that is called like the digested form of another one takes nothing from it', () => {
    const pair = [of('a', 'b.c'), of('a.b', 'c')];
    const [digested = ''] = namesOf(pair, DOTTED);
    const names = namesOf([...pair, of('evil', digested, '')], DOTTED);
    expect(new Set(names).size).toBe(3);
    expect(names[0]).not.toBe(digested);
  });

  it('keeps clear of names that stand for something else already', () => {
    const taken = new Map([['u__x', { upstream: 'u', name: '_x' }]]);
    expect(namesOf([of('u', 'x')], STRICT, taken)[0]).toMatch(/^u__x_[a-z2-7]{8}$/);
    expect(namesOf([of('u', '_x')], { separator: '_', maxLength: 52 }, taken)).toEqual(['u__x']);
  });

  it('refuses a limit that leaves no room', () => {
    expect(() => namesOf([], { separator: '.', maxLength: 15 })).toThrow(RangeError);
  });

  it('2,000 rounds of hostile names: unique, legal, independent of order', () => {
    const pick = seeded(20_261_129);
    const word = (alphabet: string, most: number) =>
      Array.from({ length: 1 + pick(most) }, () => alphabet.charAt(pick(alphabet.length))).join('');
    for (let round = 0; round < 2_000; round += 1) {
      const rule: NamingRule = {
        separator: ['.', '_', '__', '-', ''][pick(5)] ?? '.',
        maxLength: 16 + pick(6),
        strict: pick(2) === 1,
      };
      const seen = new Map<string, Original>();
      for (let count = 2 + pick(20); count > 0; count -= 1) {
        const upstream = word('a_.', 3);
        const original = of(upstream, word('a_.é ', 20), pick(8) === 0 ? '' : upstream);
        seen.set(JSON.stringify([upstream, original.name]), original);
      }
      const first = [...seen.values()];
      // Add tools that are called like what the others are exposed as.
      const thieves = namesOf(first, rule)
        .slice(0, 3)
        .map((name, index) => of(`thief${index}`, name, ''));
      const originals = [...first, ...thieves];
      const names = namesOf(originals, rule);
      expect(new Set(names).size, `round ${round}`).toBe(originals.length);
      const legal = rule.strict ? /^[A-Za-z_][A-Za-z0-9_-]*$/ : /./;
      const illegal = names.filter((name) => name.length > rule.maxLength || !legal.test(name));
      expect(illegal, `round ${round}`).toEqual([]);
      const order = originals.map((_, index) => index).toSorted(() => pick(3) - 1);
      const shuffled = namesOf(
        order.map((index) => originals[index]!),
        rule,
      );
      expect(shuffled, `round ${round}`).toEqual(order.map((index) => names[index]));
    }
  });
});
