import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { scopeKey } from '../../src/access/cache-scope.ts';
import { createPrincipal, type Principal } from '../../src/access/principal.ts';
import { objectAt } from '../../src/base/json.ts';
import { createSealer } from '../../src/base/sealed.ts';
import { buildCatalog } from '../../src/catalog/snapshot.ts';
import { type View, viewOf } from '../../src/catalog/view.ts';
import type { RequestContext } from '../../src/relay/context.ts';
import { ParkedCalls } from '../../src/relay/parked.ts';
import { RequestStates } from '../../src/relay/request-state.ts';
import { part, resource, tool } from '../unit/catalog/parts.ts';

/** Guards that nobody reaches through the front door, since another one stands before each of them. */

const sealer = createSealer(randomBytes(32));

const principal = (id: string): Principal =>
  createPrincipal({
    key: JSON.stringify(['test', id]),
    id,
    issuer: undefined,
    groups: [],
    scopes: [],
    expires: undefined,
    presented: undefined,
  });

/** As much of a request as a parked call looks at. */
const contextOf = (id: string) =>
  ({
    principal: principal(id),
    client: { info: { name: 'test', version: '1' }, capabilities: { roots: {} }, logLevel: undefined },
    signal: new AbortController().signal,
  }) as unknown as RequestContext;

describe('a parked call', () => {
  it('is gone on with by its own user, even where somebody else’s state would say which one it is', async () => {
    const parked = new ParkedCalls(new RequestStates(sealer, () => 60_000), () => ({
      ttl: 60_000,
      perPrincipal: 16,
      rounds: 10,
    }));
    const subject = { upstream: 'up', method: 'tools/call', params: { name: 'ask' } };
    const attach = (id: string) => ({ context: contextOf(id), subject, onNotice: () => {} });
    const asked = await parked.begin(attach('alice'), async ({ onQuestion, signal }) => {
      // As a server does, whose question comes later than its call began.
      await Promise.resolve();
      return { answer: await onQuestion({ method: 'roots/list', params: undefined, signal }) };
    });
    const { id, round } = objectAt(
      sealer.open('request-state', String(asked.result['requestState'])),
      'content',
    ) as {
      id: string;
      round: number;
    };
    const [key = ''] = Object.keys(asked.result['inputRequests'] as object);
    const go = (who: string) =>
      parked.resume({ id, round, responses: { [key]: { roots: [] } } }, attach(who));
    expect(asked.kind).toBe('asked');
    await expect(go('bob')).rejects.toMatchObject({ code: 'STATE_INVALID' });
    expect(await go('alice')).toEqual({ kind: 'done', result: { answer: { roots: [] } } });
    parked.close();
  });
});

describe('a view', () => {
  it('leads to no name or URI that it does not show, in any style', () => {
    const offers = { tools: [tool('a'), tool('b')], resources: [resource('x://a'), resource('x://b')] };
    const catalog = buildCatalog([part('up', offers)], { separator: '.', maxLength: 128 });
    const sight = {
      key: 'a',
      shows: ({ original }: { readonly original: string }) => original.endsWith('a'),
    };
    for (const [selection, name] of [
      [{ style: 'dotted' }, 'up.'],
      [{ style: 'strict' }, 'up__'],
      [{ style: 'bare', upstream: 'up' }, ''],
    ] as const) {
      const [all, some] = [viewOf(catalog, selection), viewOf(catalog, selection, sight)];
      const found = (view: View) =>
        ['a', 'b'].map((end) => [
          view.find('tools', name + end)?.original,
          view.resource(`x://${end}`)?.uri,
          view.list('resources').length,
        ]);
      expect(found(all)).toEqual([
        ['a', 'x://a', 2],
        ['b', 'x://b', 2],
      ]);
      expect(found(some)).toEqual([
        ['a', 'x://a', 1],
        [undefined, undefined, 1],
      ]);
    }
  });
});

describe('what is sealed', () => {
  it('opens for its own purpose alone, whatever is in it', () => {
    const purposes = ['session', 'cursor', 'request-state', 'task'];
    for (const purpose of purposes) {
      const token = sealer.seal(purpose, { principal: 'alice' });
      const opened = purposes.filter((other) => sealer.open(other, token) !== undefined);
      expect(opened).toEqual([purpose]);
    }
  });
});

describe('the name of a kept answer', () => {
  it('is another one for each user, each server, and everybody together', () => {
    const asked = { upstream: 'up', method: 'resources/read', params: { uri: 'x' } };
    const names = [
      scopeKey(asked, undefined),
      scopeKey(asked, principal('alice')),
      scopeKey(asked, principal('bob')),
      scopeKey({ ...asked, upstream: 'other' }, principal('alice')),
      scopeKey({ ...asked, method: 'tools/list' }, principal('alice')),
      scopeKey({ ...asked, params: { uri: 'y' } }, principal('alice')),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(scopeKey(asked, principal('alice'))).toBe(names[1]);
  });
});
