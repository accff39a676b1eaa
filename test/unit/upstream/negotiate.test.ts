import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { judge, type ProbeAnswer } from '../../../src/upstream/negotiate.ts';

const ASKED = '2026-07-28';
const error = (code: number, data?: unknown): ProbeAnswer => ({
  kind: 'error',
  error: { code, message: 'm', ...(data ? { data } : {}) },
});
const status = (code: number): ProbeAnswer => ({
  kind: 'failed',
  error: new GatewayError('UPSTREAM_STATUS', { upstream: 'up', data: { status: code } }),
});
const discovered = (supportedVersions: unknown, capabilities: unknown = {}): ProbeAnswer => ({
  kind: 'result',
  result: { supportedVersions, capabilities },
});

describe('C-099: what the answer to the probe says about the era', () => {
  it.each<[string, ProbeAnswer, string]>([
    ['a discovery with our version', discovered(['2026-07-28', '2025-11-25']), 'modern'],
    ['a discovery with legacy versions only', discovered(['2025-11-25']), 'legacy'],
    ['a discovery with unknown versions only', discovered(['2027-01-01']), 'no-version'],
    ['a discovery without versions', { kind: 'result', result: { capabilities: {} } }, 'modern'],
    ['a result that is no discovery', { kind: 'result', result: { ok: true } }, 'legacy'],
    ['-32601', error(-32601), 'legacy'],
    ['-32602', error(-32602), 'legacy'],
    ['-32000', error(-32000), 'legacy'],
    ['-32603', error(-32603), 'legacy'],
    ['-32022 without a list', error(-32022), 'no-version'],
    ['-32022 with our version again', error(-32022, { supported: ['2026-07-28'] }), 'modern'],
    ['-32022 with a newer version', error(-32022, { supported: ['2027-01-01'] }), 'no-version'],
    ['-32022 with a legacy version', error(-32022, { supported: ['2025-11-25'] }), 'legacy'],
    ['-32020', error(-32020), 'modern'],
    ['-32021', error(-32021), 'modern'],
    ['silence', { kind: 'silence' }, 'legacy'],
    ['HTTP 400', status(400), 'legacy'],
    ['HTTP 404', status(404), 'legacy'],
    ['HTTP 405', status(405), 'legacy'],
    ['HTTP 500', status(500), 'undecided'],
    ['HTTP 503', status(503), 'undecided'],
    ['HTTP 401', { kind: 'failed', error: new GatewayError('UPSTREAM_AUTH') }, 'undecided'],
    ['HTTP 429', { kind: 'failed', error: new GatewayError('UPSTREAM_RATE_LIMITED') }, 'undecided'],
    ['an HTML page', { kind: 'failed', error: new GatewayError('UPSTREAM_NOT_MCP') }, 'undecided'],
    ['a refused connection', { kind: 'failed', error: new GatewayError('UPSTREAM_DOWN') }, 'undecided'],
  ])('%s', (_what, answer, verdict) => {
    expect(judge(answer, ASKED).kind).toBe(verdict);
  });

  it('C-098: a process that died of the probe needs a new one', () => {
    const died: ProbeAnswer = { kind: 'failed', error: new GatewayError('UPSTREAM_LOST') };
    expect(judge(died, ASKED)).toEqual({ kind: 'legacy', respawn: true });
  });
});
