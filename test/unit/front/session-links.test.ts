import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { ANONYMOUS, createPrincipal } from '../../../src/access/principal.ts';
import { Ender } from '../../../src/base/ender.ts';
import { createLog } from '../../../src/base/log.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import { SessionLinks } from '../../../src/front/session-links.ts';
import { Sessions } from '../../../src/front/sessions.ts';
import { MemoryState, SharedMemory } from '../../../src/state/memory-state.ts';
import { Peers } from '../../../src/state/peers.ts';

/** The second lock: what another replica says of a session is taken only for the principal that opened it here. */
it('takes nothing for a session of somebody else, whatever another replica says', async () => {
  const log = createLog({ level: 'silent', readable: false });
  const sealer = createSealer(randomBytes(32));
  const memory = new SharedMemory();
  const [mine, theirs] = [new MemoryState(memory), new MemoryState(memory)];
  const peers = new Peers(mine, sealer, log);
  const other = new Peers(theirs, sealer, log);
  const sessions = new Sessions(sealer, () => ({ idle: 60_000, maxAge: 60_000, max: 10 }));
  new SessionLinks({
    peers,
    state: mine,
    sessions: () => sessions,
    notify: () => Promise.resolve(),
    askCaller: async () => ({ action: 'accept' }),
    log,
  });
  const alice = createPrincipal({ ...ANONYMOUS, key: '["keys","alice"]', id: 'alice' });
  const about = { version: '2025-11-25', info: {}, capabilities: {}, principal: alice, entrance: 'default' };
  const { sid, live } = sessions.open(sessions.create(about), alice, 'default') ?? expect.unreachable();
  const answers: unknown[] = [];
  const said: string[] = [];
  live.questions.set('q', { answer: (answer) => answers.push(answer), drop: () => {} });
  live.outlets.add({ connected: true, end: () => {}, send: (json) => said.push(json) > 0 });
  live.caller = {} as NonNullable<typeof live.caller>;
  const running = new Ender();
  live.calls.set(7, new Set([running]));

  const attempts = async (principal: string) => {
    const whose = { sid, principal };
    const response = { jsonrpc: '2.0', id: 'q', result: {} };
    const ask = (topic: string, more: object) =>
      other.ask(peers.name, topic, { ...whose, ...more }).answer.catch(() => 'refused');
    other.tell('session-cancel', { ...whose, id: 7 });
    other.tell('session-level', { ...whose, level: 'debug' });
    return {
      answer: await ask('session-answer', { response }),
      tell: await ask('session-tell', { json: '{}' }),
      ask: await ask('session-ask', { method: 'roots/list' }),
      stream: await ask('session-stream', { lastEvent: 'x.1' }),
    };
  };
  expect(await attempts('["keys","bob"]')).toEqual({
    answer: {},
    tell: { heard: false },
    ask: 'refused',
    stream: { state: 'unknown' },
  });
  expect([answers, said, live.logLevel, running.aborted]).toEqual([[], [], undefined, false]);
  expect(await attempts(alice.key)).toMatchObject({ tell: { heard: true }, ask: { action: 'accept' } });
  expect([answers.length, said, live.logLevel, running.aborted]).toEqual([1, ['{}'], 'debug', true]);
  peers.close();
  other.close();
});
