import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { State } from '../../../src/upstream/state.ts';
import { createLogCatcher, httpUpstream } from './transport-kit.ts';

const DOWN = new GatewayError('UPSTREAM_DOWN', { upstream: 'up' });
const restart = { base: 100, cap: 10_000, breakAfter: 3 };
const about = { era: 'modern' } as const;

function setUp() {
  const { log, lines } = createLogCatcher();
  const settings = httpUpstream('http://127.0.0.1:9/mcp', { restart });
  const state = new State(settings, log, { own: false, state: 'connecting' });
  const told = () => lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  return { state, told };
}

describe('the breaker', () => {
  it('after so many failures in a row it is broken, and tried only about every cap', () => {
    const { state } = setUp();
    const waits = [0, 1, 2, 3].map(() => state.failed(DOWN, about));
    expect(state.status).toMatchObject({ state: 'broken', era: 'modern', lastError: expect.any(String) });
    for (const [n, wait] of waits.entries()) {
      const ceiling = n < 2 ? 100 * 2 ** n : 10_000;
      expect(wait).toBeLessThanOrEqual(ceiling);
      expect(wait).toBeGreaterThanOrEqual(ceiling / 2);
    }
  });

  it('a half-open try does not hide that it is broken; a success closes it', () => {
    const { state } = setUp();
    for (let n = 0; n < 3; n += 1) {
      state.failed(DOWN, about);
    }
    state.trying();
    expect(state.now).toBe('broken');
    state.succeeded('legacy');
    expect(state.status).toMatchObject({ state: 'connected', era: 'legacy', lastError: undefined });
    expect(state.rest).toBe(0);
  });

  it('a success is no recovery: until one, the next failure breaks it again', () => {
    const { state } = setUp();
    for (let n = 0; n < 3; n += 1) {
      state.failed(DOWN, about);
    }
    state.succeeded('modern');
    state.failed(DOWN, about);
    expect(state.now).toBe('broken');
    state.recovered();
    state.failed(DOWN, about);
    expect(state.now).toBe('backoff');
  });
});

it('calls are told when it is tried next, and nothing while that is under way', () => {
  const { state } = setUp();
  const wait = state.failed(DOWN, about);
  const { code, upstream, data } = state.down();
  expect({ code, upstream }).toEqual({ code: 'UPSTREAM_DOWN', upstream: 'up' });
  expect(data?.['retryAfterMs']).toBeLessThanOrEqual(Math.ceil(wait));
  state.succeeded('modern');
  expect(state.down().data).toBeUndefined();
});

it('the wait that a server asks for outranks a shorter one', () => {
  const { state } = setUp();
  const busy = new GatewayError('UPSTREAM_RATE_LIMITED', { upstream: 'up', data: { retryAfterMs: 60_000 } });
  expect(state.failed(busy, about)).toBe(60_000);
  const shut = new GatewayError('UPSTREAM_FAILED', { upstream: 'up', data: { retryAfterMs: 1e12 } });
  expect(state.failed(shut, about), 'nobody is left alone for years').toBe(3_600_000);
});

it('the same news is told once, and when it breaks', () => {
  const { state, told } = setUp();
  for (let n = 0; n < 5; n += 1) {
    state.failed(DOWN, about);
  }
  expect(told().map(({ level, state: now }) => [level, now])).toEqual([
    [40, 'backoff'],
    [20, 'backoff'],
    [40, 'broken'],
    [20, 'broken'],
    [20, 'broken'],
  ]);
});

it('where others are connected all the same, a failure is shown and breaks nothing', () => {
  const { state } = setUp();
  state.succeeded('legacy');
  state.failed(DOWN, { era: 'legacy', served: true });
  expect(state.status).toMatchObject({
    state: 'connected',
    lastError: expect.stringContaining('UPSTREAM_DOWN'),
  });
});
