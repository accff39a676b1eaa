import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import type { Call, CallOptions } from '../../../src/upstream/call.ts';
import { Calls } from '../../../src/upstream/calls.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const limits = (timeoutMs: number, totalMs: number): CallOptions => ({
  envelope: { clientInfo: { name: 'c', version: '1' }, clientCapabilities: {} },
  timeoutMs,
  totalMs,
});

const ms = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(Number.POSITIVE_INFINITY));
const step = fc.oneof(
  fc.record({ kind: fc.constant('open'), timeoutMs: ms, totalMs: ms }),
  fc.record({ kind: fc.constant('wait'), ms: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constantFrom('progress', 'hold', 'release', 'answer'), of: fc.nat(1) }),
);

/** A call as two timers of its own would end it. */
interface Model {
  readonly call: Call;
  silentAt: number;
  readonly lateAt: number;
  readonly timeoutMs: number;
  readonly holds: (() => void)[];
  over: boolean;
}

describe('deadlines of calls', () => {
  it('end each call when timers of its own would have ended it, for the same reason', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
        const ended: { id: number; at: number; why: string }[] = [];
        const calls = new Calls('up', ({ id }, why) => ended.push({ id, at: performance.now(), why }));
        const models: Model[] = [];
        const expected: typeof ended = [];
        let progress = 0;
        const expire = (model: Model) => {
          const silentAt = model.holds.length > 0 ? Number.POSITIVE_INFINITY : model.silentAt;
          const at = Math.min(silentAt, model.lateAt);
          if (!model.over && at <= performance.now()) {
            model.over = true;
            const { timeoutMs, totalMs } = model.call.options;
            const why =
              silentAt <= model.lateAt ? `(no answer for ${timeoutMs} ms)` : `(limit: ${totalMs} ms in all)`;
            expected.push({ id: model.call.id, at, why });
          }
        };
        const take = (one: (typeof steps)[number]) => {
          const now = performance.now();
          if ('timeoutMs' in one) {
            const { timeoutMs, totalMs } = one;
            const call = calls.open('tools/call', limits(timeoutMs, totalMs));
            call.answer.catch(() => {});
            models.push({
              call,
              silentAt: now + timeoutMs,
              lateAt: now + totalMs,
              timeoutMs,
              holds: [],
              over: false,
            });
            return;
          }
          if ('ms' in one) {
            vi.advanceTimersByTime(one.ms);
            models.forEach(expire);
            return;
          }
          const model = models[one.of];
          if (model === undefined || model.over) {
            return;
          }
          switch (one.kind) {
            case 'progress':
              model.call.advance(++progress);
              model.silentAt = now + model.timeoutMs;
              break;
            case 'hold':
              model.holds.push(model.call.hold());
              break;
            case 'release':
              model.silentAt = model.holds.length === 1 ? now + model.timeoutMs : model.silentAt;
              model.holds.pop()?.();
              break;
            default:
              model.over = true;
              model.call.resolve({ jsonrpc: '2.0', id: model.call.id, result: {} });
          }
        };
        steps.forEach(take);
        const inOrder = (list: typeof ended) => list.toSorted((a, b) => a.at - b.at || a.id - b.id);
        expect(inOrder(ended)).toEqual(inOrder(expected));
        calls.endAll(new GatewayError('UPSTREAM_LOST', { upstream: 'up' }));
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 2_000 },
    );
  });
});
