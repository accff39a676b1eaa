import { describe, expect, it } from 'vitest';
import type { UpstreamStatus } from '../../../src/upstream/state.ts';
import { CLOSED } from '../../fixtures/upstreams/scripted-peer.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import type { Script } from '../../kit/upstream.ts';
import { OPTIONS, partyOf, type StartedFleet, startFleet, user } from './fleet-kit.ts';

const ALICE = partyOf(user('alice'));
const ERAS = [{ era: 'legacy' }, { era: 'modern' }] as const;
/** No question whether it is there, and quick tries. */
const calm = { timeouts: { health: 0 }, restart: { base: '20ms', cap: '60ms', breakAfter: 3 } };

const status = ({ fleet }: StartedFleet): UpstreamStatus | undefined => fleet.statuses().get('up');
const until = (started: StartedFleet, state: string) =>
  expect.poll(() => status(started)?.state, { timeout: 10_000 }).toBe(state);
const lost = ({ told }: StartedFleet) => told.filter(([event]) => event === 'lost').length;

describe.each(ERAS)('one refused call of a $era server', ({ era }) => {
  it.each([400, 404, 405, 415])(
    'a server, or a firewall before it, that refuses one call with %i stays connected, and other calls go on',
    async (code) => {
      await using up = await startHttpUpstream({
        id: 'up',
        era,
        tools: ['echo', 'slow'],
        http: { sessions: false },
      });
      const started = startFleet({ ...up.config, ...calm });
      await until(started, 'connected');
      const method = era === 'modern' ? 'server/discover' : 'ping';
      const before = up.count(method);
      const slow = started.call(ALICE, 'slow');
      await up.untilReceived('tools/call');
      await up.change({ faults: [{ on: 'tools/call', times: 1, do: { status: code, body: '<p>Blocked' } }] });
      await expect(started.call(ALICE, 'echo')).rejects.toMatchObject({ code: 'UPSTREAM_STATUS' });
      await expect.poll(() => up.count(method)).toBe(before + 1);
      await started.call(ALICE, 'echo');
      await up.release('slow');
      await slow;
      expect([lost(started), status(started)]).toMatchObject([0, { state: 'connected', connects: 1 }]);
    },
  );
});

describe('a server that was replaced without a word', () => {
  it.each([
    ['has no such endpoint any more', { status: 404, body: 'Not found' }],
    [
      'wants a handshake first',
      {
        status: 400,
        body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Not initialized' } },
      },
    ],
  ])('legacy, without sessions: it %s, so it is given one', async (_, fault) => {
    const script: Script = { id: 'up', era: 'legacy', tools: ['echo'], http: { sessions: false } };
    await using up = await startHttpUpstream(script);
    const started = startFleet({ ...up.config, ...calm });
    await until(started, 'connected');
    const faults = ['tools/call', 'ping'].map((on) => ({ on, times: 1, do: fault }));
    await up.change({ faults });
    await expect(started.call(ALICE, 'echo')).rejects.toThrow();
    await expect.poll(() => up.count('initialize')).toBe(2);
    await until(started, 'connected');
    await started.call(ALICE, 'echo');
  });

  it.each([
    ['its stream of notices breaks', 0],
    ['nothing was heard of it for a while', '40ms'],
  ] as const)('modern: what it can do now is found out when %s', async (_, health) => {
    await using up = await startHttpUpstream({ id: 'up', era: 'modern', tools: ['slow'] });
    const started = startFleet({ ...up.config, ...calm, timeouts: { health } });
    await until(started, 'connected');
    await up.untilListening();
    const slow = started.call(ALICE, 'slow');
    await up.untilReceived('tools/call');
    await up.change({ prompts: ['p'], instructions: 'Other than before.' });
    if (health === 0) {
      up.dropStreams();
    }
    await expect
      .poll(() => started.fleet.terms('up'), { timeout: 10_000 })
      .toMatchObject({ capabilities: { prompts: {} }, instructions: 'Other than before.' });
    await up.release('slow');
    await slow;
    expect(up.count('tools/call')).toBe(1);
    // The connection before is let go with the last call on it, and its stream of notices with it.
    await expect.poll(() => up.count(CLOSED)).toBeGreaterThan(0);
  });
});

describe('a call under way while the stream of notices is opened again', () => {
  describe.each([
    ['the shared connection', {}],
    ["a user's own connection", { isolation: 'user' }],
  ])('%s', (_, config) => {
    it.each([
      { code: 404, ends: true },
      { code: 400, ends: true },
      { code: 409, ends: false },
      { code: 405, ends: false },
      { code: 503, ends: false },
    ])('is made once when that gets $code', async ({ code, ends }) => {
      await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['slow'] });
      const started = startFleet({ ...up.config, ...calm, ...config });
      await until(started, 'connected');
      const slow = started.call({ ...ALICE, era: 'legacy' }, 'slow');
      const outcome = slow.then(
        () => 'done',
        (thrown: unknown) => (thrown as { code: unknown }).code,
      );
      await up.untilReceived('tools/call');
      const opened = up.count('$GET');
      await up.change({ faults: [{ on: '$GET', times: opened, do: { status: code } }] });
      up.dropStreams();
      await expect.poll(() => up.count('$GET')).toBeGreaterThan(opened);
      if (!ends) {
        await expect.poll(() => up.count('$GET')).toBe(3 * opened);
        await up.release('slow');
      }
      expect(await outcome).toBe(ends ? 'UPSTREAM_LOST' : 'done');
      expect(up.count('tools/call')).toBe(1);
    });
  });
});

it.each([
  ['the shared connection', {}],
  ["a user's own connection", { isolation: 'user' }],
])(
  '%s: a call under way when the session is renewed goes on, within limits of its own',
  async (_, config) => {
    await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo', 'slow'] });
    // Those of one request: what is asked for here waits longer, as one that reports progress does.
    const started = startFleet({ ...up.config, ...calm, ...config, timeouts: { health: 0, call: '50ms' } });
    await until(started, 'connected');
    const party = { ...ALICE, era: 'legacy' } as const;
    const slow = started.call(party, 'slow', { ms: 400 });
    await up.untilReceived('tools/call');
    await up.change({ faults: [{ on: 'tools/call', times: 1, do: { status: 404 } }] });
    await started.call(party, 'echo');
    await expect(slow).resolves.toHaveProperty('structuredContent', { done: true });
    expect(up.count('tools/call')).toBe(3);
  },
);

it('a resource whose subscription failed on its way is subscribed all the same, once', async () => {
  await using up = await startHttpUpstream({ id: 'up', era: 'legacy', resources: ['file:///a'] });
  const started = startFleet({ ...up.config, ...calm });
  await until(started, 'connected');
  const faults = [
    { on: 'resources/subscribe', times: 1, do: { status: 503 } },
    { on: 'resources/subscribe', times: 1, do: { drop: true } },
  ] as const;
  await up.change({ faults });
  started.fleet.watch('up', new Set(['file:///a']));
  await expect.poll(() => up.count('resources/subscribe')).toBe(3);
  await up.untilListening();
  await up.notify({ updated: 'file:///a' });
  await expect.poll(() => started.told.some(([event]) => event === 'updated')).toBe(true);
  expect(up.count('resources/subscribe')).toBe(3);
});

it('a connection whose user is signed out in the middle of a call says goodbye after it', async () => {
  await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['slow'] });
  const started = startFleet({ ...up.config, ...calm, isolation: 'user' });
  await until(started, 'connected');
  const brief = partyOf(user('brief', { expires: Date.now() + 300 }), { era: 'legacy' });
  await started.call(brief, 'slow', { ms: 600 });
  await up.untilReceived('$DELETE');
  expect(up.sessions).toHaveLength(1);
});

it.each([
  ['failed on its way is asked for again by the next call', { status: 503 }, 2],
  ['was refused is not', { error: { code: -32_601, message: 'No levels here' } }, 1],
] as const)('a log level that %s', async (_, fault, times) => {
  const capabilities = { logging: {} };
  await using up = await startHttpUpstream({ id: 'up', era: 'legacy', tools: ['echo'], capabilities });
  const started = startFleet({ ...up.config, ...calm });
  await until(started, 'connected');
  await up.change({ faults: [{ on: 'logging/setLevel', times: 1, do: fault }] });
  const options = { ...OPTIONS, envelope: { ...OPTIONS.envelope, logLevel: 'info' } };
  for (let calls = 0; calls < 3; calls += 1) {
    await started.fleet.call('up', 'tools/call', { name: 'echo', arguments: {} }, options, ALICE);
  }
  expect(up.count('logging/setLevel')).toBe(times);
});
