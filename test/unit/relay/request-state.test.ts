import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ExactNumber } from '../../../src/base/exact-number.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import { readJsonBytes } from '../../../src/protocol/json-bytes.ts';
import type { RequestContext } from '../../../src/relay/context.ts';
import { RequestStates, type StateSubject } from '../../../src/relay/request-state.ts';

const TTL = 60_000;
const sealer = createSealer(randomBytes(32));

/** As much of a request as a state is bound to, besides what is asked. */
const by = (key: string) => ({ principal: { key } }) as unknown as RequestContext;

const ada = by('ada');
const eve = by('eve');

describe('a requestState', () => {
  const states = new RequestStates(sealer, () => TTL);
  const content = { kind: 'parked', id: 'x', round: 1 } as const;
  const subject: StateSubject = {
    upstream: 'up',
    method: 'tools/call',
    params: { name: 'up.pay', arguments: { to: 'Ada', sum: { amount: 1, unit: 'EUR' } }, _meta: { n: 1 } },
  };
  const open = (state: unknown, changed: Partial<StateSubject> = {}, context = ada) =>
    states.open(state, { ...subject, ...changed }, context);

  afterEach(() => {
    vi.useRealTimers();
  });

  it('says again what it stood for, to the same caller and for the same request, and nothing to a reader', () => {
    const state = states.seal(content, subject, ada);
    expect(open(state)).toEqual(content);
    expect(Buffer.from(state, 'base64url').toString('latin1')).not.toMatch(/parked|pay|ada/i);
    // Members in another order, and `_meta`, which belongs to one hop, make no other request.
    const params = { arguments: { sum: { unit: 'EUR', amount: 1 }, to: 'Ada' }, name: 'up.pay' };
    expect(open(state, { params })).toEqual(content);
    expect(states.seal(content, subject, ada)).not.toBe(state);
  });

  it('holds for long texts as they are, and however much else came with them', () => {
    // A message of 8 KiB and more leaves them unread.
    const paramsOf = (text: string, more = ''): JsonObject => {
      const message = JSON.stringify({ params: { name: 'up.pay', arguments: { text }, more } });
      const read = readJsonBytes(Buffer.from(message), 1_000_000);
      return (read as { readonly value: { readonly params: JsonObject } }).value.params;
    };
    const text = 'x'.repeat(7_000);
    const state = states.seal(content, { ...subject, params: paramsOf(text) }, ada);
    expect(open(state, { params: paramsOf(text, 'y'.repeat(7_000)) })).toEqual(content);
    const long = states.seal(content, { ...subject, params: paramsOf(text.repeat(2)) }, ada);
    expect(open(long, { params: paramsOf(text.repeat(2)) })).toEqual(content);
    const byId = (id: string) => ({ params: { name: 'up.pay', arguments: { id: new ExactNumber(id) } } });
    const exact = states.seal(content, { ...subject, ...byId('9007199254740993') }, ada);
    expect(open(exact, byId('9007199254740993'))).toEqual(content);
    expect(() => open(exact, byId('9007199254740995'))).toThrow();
    expect(() => open(long, { params: paramsOf(`${text}${'z'.repeat(7_000)}`) })).toThrow();
  });

  it.each<[string, Partial<StateSubject>, RequestContext?]>([
    ['another principal', {}, eve],
    ['another server, whose tool has that name', { upstream: 'other' }],
    ['another method', { method: 'prompts/get' }],
    ['another name', { params: { ...subject.params, name: 'up.pay2' } }],
    ['another argument', { params: { ...subject.params, arguments: { to: 'Eve' } } }],
    [
      'a list in the place of an object',
      {
        params: {
          name: 'up.pay',
          arguments: {
            to: 'Ada',
            sum: [
              ['amount', 1],
              ['unit', 'EUR'],
            ],
          },
        },
      },
    ],
    ['no arguments', { params: { name: 'up.pay' } }],
    ['another URI', { params: { ...subject.params, uri: 'x://y' } }],
  ])('is refused to %s', (_who, changed, context) => {
    const state = states.seal(content, subject, ada);
    expect(() => open(state, changed, context)).toThrow(expect.objectContaining({ code: 'STATE_INVALID' }));
  });

  it.each([undefined, null, 7, '', 'x', {}, []])('is refused where it is none: %j', (state) => {
    expect(() => open(state)).toThrow(expect.objectContaining({ code: 'STATE_INVALID' }));
  });

  it('is refused for every changed bit, and under another key', () => {
    const state = states.seal(content, subject, ada);
    for (let n = 0; n < state.length; n += 1) {
      const bytes = Buffer.from(state, 'base64url');
      const at = n % bytes.length;
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (n % 8));
      expect(() => open(bytes.toString('base64url'))).toThrow();
    }
    const elsewhere = new RequestStates(createSealer(randomBytes(32)), () => TTL);
    expect(() => elsewhere.open(state, subject, ada)).toThrow();
  });

  it('is no other token, and no other token is one', () => {
    const state = states.seal(content, subject, ada);
    expect(sealer.open('task', state)).toBeUndefined();
    const principal = 'ada';
    const task = sealer.seal('task', { content, principal, expires: Date.now() + TTL });
    expect(() => open(task)).toThrow(expect.objectContaining({ code: 'STATE_INVALID' }));
  });

  it('is refused when its time is over', () => {
    const state = states.seal(content, subject, ada);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + TTL - 1_000 });
    expect(open(state)).toEqual(content);
    vi.setSystemTime(Date.now() + 1_000);
    expect(() => open(state)).toThrow(expect.objectContaining({ code: 'STATE_INVALID' }));
  });
});
