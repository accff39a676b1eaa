import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { OwnList } from '../../../src/catalog/own-list.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const ownList = () =>
  new OwnList({
    upstream: 'up',
    kind: 'tools',
    ttl: 60_000,
    staleFor: 60_000,
    debounceMs: () => 50,
    notices: () => 0,
    intern: (items) => items,
    now: () => 0,
    changed: () => {},
  });

/** Reads a list for a request; resolves with whether that request is still held by anything. */
async function readFor(list: OwnList): Promise<WeakRef<object>> {
  const request = { body: 'x'.repeat(1_000) };
  const reads = [list.read(async () => void request.body), list.read(async () => void request.body)];
  await Promise.all(reads);
  return new WeakRef(request);
}

it('holds no request for which it was read: a list of one user stays for hours', async () => {
  const list = ownList();
  const request = await readFor(list);
  await setImmediate();
  collect();
  expect(list.known).toBe(true);
  expect(request.deref()).toBeUndefined();
});

it('is read by itself once a second at most, however soon it is out of date', async () => {
  const list = ownList();
  const hints = { ttlMs: 1, scope: 'private' } as const;
  await list.read(async () => ({ items: [], hints, readAt: 0, findings: [] }));
  expect(list.freshUntil).toBe(1);
  expect(list.nextAt).toBe(1_000);
});
