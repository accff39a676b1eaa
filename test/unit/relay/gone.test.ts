import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/access/principal.ts';
import type { UpstreamPart } from '../../../src/catalog/part.ts';
import { buildCatalog } from '../../../src/catalog/snapshot.ts';
import { viewOf } from '../../../src/catalog/view.ts';
import type { Item } from '../../../src/protocol/model.ts';
import { Gone } from '../../../src/relay/gone.ts';
import { nearby } from '../../../src/relay/nearby.ts';
import { approved, type LockState } from '../../../src/vetting/lock.ts';

const NAMING = { separator: '.', maxLength: 128 };
const DOTTED = { style: 'dotted' } as const;
const tool = (name: string): Item => ({
  name,
  description: `What ${name} does.`,
  inputSchema: { type: 'object' },
});
const part = (names: readonly string[], scope?: 'private'): UpstreamPart => ({
  upstream: 'up',
  namespace: 'up',
  lists: { tools: { items: names.map(tool), hints: { ttlMs: undefined, scope }, readAt: 0, findings: [] } },
  stale: false,
});
const catalog = (names: readonly string[], scope?: 'private') => buildCatalog([part(names, scope)], NAMING);
const principal = (id: string) => ({ id, key: id, grant: id }) as unknown as Principal;
const [ann, bob] = [principal('ann'), principal('bob')];

function knowing(given: { readonly own?: boolean; readonly lock?: LockState } = {}): Gone {
  return new Gone({
    lock: () => given.lock,
    naming: () => NAMING,
    isOwn: () => given.own === true,
    isEverybody: () => false,
  });
}

describe('tools that are gone', () => {
  it('are known to all who were told of them, by each of their names, and nothing else is', () => {
    const gone = knowing();
    const after = catalog(['b']);
    gone.replaced(catalog(['a', 'b']), after, undefined);
    const found = (name: string) => gone.find(name, DOTTED, after, ann)?.original;
    expect(['up.a', 'up__a', 'a', 'up.b', 'up.c'].map(found)).toEqual([
      'a',
      'a',
      undefined,
      undefined,
      undefined,
    ]);
    expect(gone.find('a', { style: 'bare', upstream: 'up' }, after, bob)?.original).toBe('a');
    expect(gone.find('a', { style: 'bare', upstream: 'down' }, after, bob)).toBeUndefined();
  });

  it('of one user’s own list are known to that user alone', () => {
    const gone = knowing({ own: true });
    const after = catalog([]);
    gone.replaced(catalog(['mine']), after, ann);
    gone.replaced(catalog(['ours']), after, undefined);
    const found = (name: string, who: Principal) => gone.find(name, DOTTED, after, who)?.original;
    expect([found('up.mine', ann), found('up.mine', bob)]).toEqual(['mine', undefined]);
    expect([found('up.ours', ann), found('up.ours', bob)], 'what the gateway itself was told').toEqual([
      undefined,
      undefined,
    ]);
  });

  it('of a list that was private then are not known to others now', () => {
    const gone = knowing();
    const after = catalog([]);
    gone.replaced(catalog(['ours'], 'private'), after, undefined);
    expect(gone.find('up.ours', DOTTED, after, ann)).toBeUndefined();
  });

  it('are known from the lock file, but not to users with lists of their own', () => {
    const offers = [{ upstream: 'up', lists: { tools: [tool('a'), tool('b')] } }];
    const lock = { lock: approved(new Map(), offers, () => true) };
    const after = catalog(['b']);
    expect(knowing({ lock }).find('up.a', DOTTED, after, ann)?.original).toBe('a');
    expect(knowing({ lock, own: true }).find('up.a', DOTTED, after, ann)).toBeUndefined();
    // A server that could not be read has lost nothing.
    const unread = buildCatalog([{ ...part([]), lists: {} }], NAMING);
    expect(knowing({ lock }).find('up.a', DOTTED, unread, ann)).toBeUndefined();
  });

  it('are known by the names that they had before the namespace was another one', () => {
    const gone = knowing();
    const after = buildCatalog([{ ...part(['a']), namespace: 'new' }], NAMING);
    gone.replaced(catalog(['a']), after, undefined);
    expect(gone.find('up.a', DOTTED, after, ann)).toMatchObject({ original: 'a', to: 'a' });
  });

  it('has another name now where one came just like it; of several nobody can tell which is which', () => {
    const plain = (names: readonly string[]) =>
      names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    const of = (items: readonly Item[]) => {
      const lists = {
        tools: { items, hints: { ttlMs: undefined, scope: undefined }, readAt: 0, findings: [] },
      };
      return buildCatalog([{ ...part([]), lists }], NAMING);
    };
    const to = (before: readonly Item[], after: readonly Item[]) => {
      const gone = knowing();
      gone.replaced(of(before), of(after), undefined);
      return gone.find('up.a', DOTTED, of(after), ann)?.to;
    };
    expect(to(plain(['a']), plain(['a2']))).toBe('a2');
    expect(to([...plain(['a']), tool('b')], [tool('b'), ...plain(['a2'])])).toBe('a2');
    expect(to(plain(['a', 'b']), plain(['a2', 'b2']))).toBeUndefined();
    expect(to(plain(['a']), plain(['a2', 'b2']))).toBeUndefined();
    expect(to(plain(['a', 'b']), plain(['b2']))).toBeUndefined();
  });

  it('two that would share a name have lost it both', () => {
    const gone = knowing();
    const other: UpstreamPart = { ...part(['b.c']), upstream: 'a', namespace: 'a' };
    const another: UpstreamPart = { ...part(['c']), upstream: 'a_b', namespace: 'a.b' };
    const after = buildCatalog([other, another], NAMING);
    gone.replaced(buildCatalog([other], NAMING), after, undefined);
    expect(after.toolOf('a', 'b.c')?.exposed.dotted).toMatch(/^a\.b\.c_[a-z2-7]{8}$/);
    expect(gone.find('a.b.c', DOTTED, after, ann)).toBeUndefined();
  });

  it('are forgotten beyond the last 1,000, and clients counted together beyond 100', () => {
    const gone = knowing();
    const names = Array.from({ length: 1_500 }, (_, at) => `t${at}`);
    const after = catalog([]);
    gone.replaced(catalog(names), after, undefined);
    const known = names.filter((name) => gone.find(`up.${name}`, DOTTED, after, ann) !== undefined);
    expect([known.length, known.at(-1)]).toEqual([1_000, 't1499']);
    for (let at = 0; at < 150; at += 1) {
      gone.count(`client ${at} ${'x'.repeat(1_000)}`, 'up.a');
    }
    const { calls, clients } = gone.counted;
    expect([calls, Object.keys(clients).length, clients['(others)']?.calls]).toEqual([150, 101, 50]);
    expect(Math.max(...Object.keys(clients).map(({ length }) => length))).toBe(64);
  });
});

describe('what comes nearest', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['read_file', ['read_text_file', 'write_file', 'list'], ['up.read_text_file', 'up.write_file']],
    ['searchIssues', ['search_issues', 'issue_read'], ['up.search_issues']],
    ['fetch', ['browse', 'shutdown'], []],
  ])('to %s among %s', (name, names, expected) => {
    const listed = viewOf(catalog(names), DOTTED).list('tools');
    expect(nearby({ upstream: 'up', original: name }, listed)).toEqual(expected);
  });

  it('where its server has nothing like it, is another server’s of the same name', () => {
    const listed = viewOf(catalog(['Read']), DOTTED).list('tools');
    expect(nearby({ upstream: 'old', original: 'read' }, listed)).toEqual(['up.Read']);
    expect(nearby({ upstream: 'old', original: 'reads' }, listed)).toEqual([]);
  });
});
