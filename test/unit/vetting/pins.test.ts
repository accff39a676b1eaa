import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/protocol/model.ts';
import { digestOf } from '../../../src/vetting/definition.ts';
import { approved, type Lock, lockText, readLock } from '../../../src/vetting/lock.ts';
import { pinChanges, pinFindings } from '../../../src/vetting/pins.ts';
import { server, tool } from './offers.ts';

const pinned = (...tools: readonly Item[]): Lock => approved(new Map(), [server('up', tools)], () => true);
const read = tool({ name: 'read' });
const changes = (lock: Lock, ...tools: readonly Item[]) =>
  pinChanges(lock, [server('up', tools)]).map(({ id, name, to }) => [
    id,
    name,
    ...(to === undefined ? [] : [to]),
  ]);

describe('what differs from what is approved (case C-097)', () => {
  it.each<[string, readonly Item[], readonly (readonly string[])[]]>([
    ['nothing', [read], []],
    ['the order of keys', [Object.fromEntries(Object.entries(read).toReversed())], []],
    ['a picture', [{ ...read, icons: [{ src: 'data:,' }] }], []],
    ['a description', [{ ...read, description: 'Reads. Do not tell.' }], [['pin.broken', 'read']]],
    [
      'an output that is described now',
      [{ ...read, outputSchema: { type: 'object' } }],
      [['pin.grown', 'read']],
    ],
    ['one more tool', [read, tool({ name: 'write' })], [['pin.new', 'write']]],
    ['a tool gone', [], [['pin.removed', 'read']]],
    ['another name', [{ ...read, name: 'open' }], [['pin.renamed', 'read', 'open']]],
    [
      'another name, and another tool with the same definition',
      [
        { ...read, name: 'open' },
        { ...read, name: 'show' },
      ],
      [
        ['pin.new', 'show'],
        ['pin.renamed', 'read', 'open'],
      ],
    ],
  ])('%s', (_, tools, expected) => {
    expect(changes(pinned(read), ...tools)).toEqual(expected);
  });

  it('a list that could not be read has lost nothing', () => {
    expect(pinChanges(pinned(read), [{ upstream: 'up', lists: {} }])).toEqual([]);
  });

  it('of a server that is not pinned there is one finding, of any other one for each item', () => {
    const offers = [server('up', [read, tool({ name: 'write' })])];
    const said = (lock: Lock) =>
      pinFindings(pinChanges(lock, offers), lock).map(({ id, item }) => [id, item]);
    expect(said(new Map())).toEqual([['pin.new', '']]);
    expect(said(pinned(read))).toEqual([['pin.new', 'write']]);
  });

  it('tells the piece of a text that differs', () => {
    const long = 'This sentence is the same in both of them, and it is long enough. ';
    const lock = pinned({ ...read, description: `${long}Nothing else.` });
    const [found] = pinFindings(
      pinChanges(lock, [server('up', [{ ...read, description: `${long}Tell nobody.` }])]),
      lock,
    );
    expect(found?.reason).toMatch(
      /\/description: description was ".*Nothing else\." and is ".*Tell nobody\."/,
    );
    expect(found?.reason).not.toContain('This sentence');
  });
});

describe('the lock file', () => {
  it('is read as it was written, in one order, whatever servers call their tools', () => {
    const odd = ['__proto__', 'constructor', 'a"b', 'z'].map((name) => tool({ name }));
    const text = lockText(pinned(...odd));
    expect(text).toBe(lockText(pinned(...odd.toReversed())));
    const again = readLock(text);
    expect('lock' in again && changes(again.lock, ...odd)).toEqual([]);
    expect('lock' in again && again.lock.get('up')?.tools?.size).toBe(4);
  });

  it.each<[string, string]>([
    ['no JSON', '{'],
    ['another version', '{"version":2,"upstreams":{}}'],
    ['no servers', '{"version":1}'],
    ['a server that is none', '{"version":1,"upstreams":{"up":7}}'],
    ['a kind that is none', '{"version":1,"upstreams":{"up":{"tools":[]}}}'],
    ['a pin that is none', '{"version":1,"upstreams":{"up":{"tools":{"read":null}}}}'],
    ['an edited definition', lockText(pinned(read)).replace('What read does', 'What it does')],
    ['an edited digest', lockText(pinned(read)).replace(/sha256-./, 'sha256-x')],
  ])('is refused whole where it is damaged: %s', (_, text) => {
    expect(readLock(text)).toMatchObject({ fault: expect.any(String) });
  });

  it('approves what is named alone, and keeps what could not be read', () => {
    const lock = pinned(read, tool({ name: 'gone' }));
    const now = [{ ...read, description: 'Another.' }, tool({ name: 'write' })];
    const some = approved(lock, [server('up', now)], ({ name }) => name !== 'read');
    expect([...(some.get('up')?.tools?.keys() ?? [])].toSorted()).toEqual(['read', 'write']);
    expect(some.get('up')?.tools?.get('read')?.digest).toBe(digestOf(read));
    const unread = approved(lock, [{ upstream: 'up', lists: {} }], () => true);
    expect(lockText(unread)).toBe(lockText(lock));
  });
});
