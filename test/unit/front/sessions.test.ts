import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ANONYMOUS, type Principal } from '../../../src/access/principal.ts';
import { Ender } from '../../../src/base/ender.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import { cancel, track } from '../../../src/front/calls.ts';
import { beginCall, Sessions } from '../../../src/front/sessions.ts';

const settings = { idle: 1_000, maxAge: 60_000, max: 3 };
const sealer = createSealer(randomBytes(32));
const other: Principal = { ...ANONYMOUS, key: '["issuer","b"]', id: 'b' };
const about = {
  version: '2025-06-18',
  info: { name: 'client', version: '1', icons: ['x'.repeat(10_000)] },
  capabilities: { roots: { listChanged: true }, elicitation: {} },
  principal: ANONYMOUS,
  entrance: 'default',
};

afterEach(() => {
  vi.useRealTimers();
});

describe('session ids', () => {
  it('carry all that outlives a restart, in visible ASCII short enough for a header', () => {
    const id = new Sessions(sealer, () => settings).create(about);
    expect(id).toMatch(/^[\x21-\x7e]{1,4096}$/);
    const after = new Sessions(sealer, () => settings).open(id, ANONYMOUS, 'default');
    expect(after).toMatchObject({
      version: '2025-06-18',
      capabilities: about.capabilities,
      info: { name: 'client', version: '1' },
    });
  });

  it('are worth nothing to another principal, at another entrance, with another key, changed, or expired', () => {
    const sessions = new Sessions(sealer, () => settings);
    const id = sessions.create(about);
    expect(sessions.open(id, other, 'default')).toBeUndefined();
    expect(sessions.open(id, ANONYMOUS, 'upstream files')).toBeUndefined();
    expect(
      new Sessions(createSealer(randomBytes(32)), () => settings).open(id, ANONYMOUS, 'default'),
    ).toBeUndefined();
    expect(sessions.open(`${id.slice(0, -2)}AA`, ANONYMOUS, 'default')).toBeUndefined();
    expect(sessions.open('', ANONYMOUS, 'default')).toBeUndefined();
    vi.useFakeTimers({ now: Date.now() + settings.maxAge + 1 });
    expect(sessions.open(id, ANONYMOUS, 'default')).toBeUndefined();
  });

  it('C-040: are refused after their end', () => {
    const sessions = new Sessions(sealer, () => settings);
    const id = sessions.create(about);
    const session = sessions.open(id, ANONYMOUS, 'default');
    expect(session).toBeDefined();
    sessions.end(session!);
    expect(sessions.open(id, ANONYMOUS, 'default')).toBeUndefined();
  });

  it('that have ended are not remembered without end', () => {
    const sessions = new Sessions(sealer, () => settings);
    const ids = Array.from({ length: 10 * settings.max + 1 }, () => sessions.create(about));
    for (const id of ids) {
      sessions.end(sessions.open(id, ANONYMOUS, 'default')!);
    }
    expect(ids.slice(1).some((id) => sessions.open(id, ANONYMOUS, 'default'))).toBe(false);
    expect(sessions.open(ids[0]!, ANONYMOUS, 'default')).toBeDefined();
  });

  it('keep only the names of capabilities too long for a header', () => {
    const sessions = new Sessions(sealer, () => settings);
    const capabilities = {
      roots: {},
      experimental: { x: 'y'.repeat(5_000) },
      sampling: { tools: { z: 'y'.repeat(100) } },
    };
    const session = sessions.open(sessions.create({ ...about, capabilities }), ANONYMOUS, 'default');
    expect(session?.capabilities).toEqual({ roots: {}, sampling: {} });
  });
});

describe('C-087: what is open for sessions', () => {
  it('is forgotten when they were quiet, and comes back when they are used again', () => {
    vi.useFakeTimers();
    const sessions = new Sessions(sealer, () => settings);
    const id = sessions.create(about);
    sessions.open(id, ANONYMOUS, 'default');
    expect(sessions.size).toBe(1);
    vi.advanceTimersByTime(settings.idle + 1);
    sessions.sweep();
    expect(sessions.size).toBe(0);
    expect(sessions.open(id, ANONYMOUS, 'default')).toBeDefined();
  });

  it('is not forgotten while a call runs, and for a while after it', () => {
    vi.useFakeTimers();
    const sessions = new Sessions(sealer, () => settings);
    const session = sessions.open(sessions.create(about), ANONYMOUS, 'default')!;
    const done = beginCall(session, 0, new Ender());
    vi.advanceTimersByTime(settings.idle + 1);
    sessions.sweep();
    expect(sessions.size).toBe(1);
    done();
    sessions.sweep();
    expect(sessions.size).toBe(1);
    vi.advanceTimersByTime(settings.idle + 1);
    sessions.sweep();
    expect(sessions.size).toBe(0);
  });

  it('is bounded: the session that was quiet longest makes room, and its id stays valid', () => {
    const sessions = new Sessions(sealer, () => settings);
    const ids = Array.from({ length: settings.max + 2 }, () => sessions.create(about));
    for (const id of ids) {
      sessions.open(id, ANONYMOUS, 'default');
    }
    expect(sessions.size).toBe(settings.max);
    expect(sessions.open(ids[0]!, ANONYMOUS, 'default')).toBeDefined();
  });
});

describe('what makes room', () => {
  const outlet = { connected: true, send: () => true, end: () => {} };

  it('is a session that nobody listens to, even where one that listens was quiet for longer', () => {
    const sessions = new Sessions(sealer, () => settings);
    const open = () => sessions.open(sessions.create(about), ANONYMOUS, 'default')!;
    const listening = open();
    listening.live.outlets.add(outlet);
    const quiet = open();
    open();
    open();
    expect([listening, quiet].map(({ live }) => live.over)).toEqual([false, true]);
  });

  it('is one that listens where all do', () => {
    const sessions = new Sessions(sealer, () => settings);
    const all = Array.from({ length: settings.max + 1 }, () => {
      const session = sessions.open(sessions.create(about), ANONYMOUS, 'default')!;
      session.live.outlets.add(outlet);
      return session;
    });
    expect(all.map(({ live }) => live.over)).toEqual([true, false, false, false]);
  });

  it('is never a session of one connection, which ends with that and leaves nothing', () => {
    const sessions = new Sessions(sealer, () => settings);
    const attached = sessions.attached(about);
    expect([attached, sessions.size]).toMatchObject([{ version: about.version }, 0]);
    const call = new Ender();
    track(attached.live.calls, 0, call);
    sessions.end(attached);
    expect([attached.live.over, call.aborted]).toEqual([true, true]);
  });
});

describe('C-063: cancelling', () => {
  it('reaches the calls of that id in that session, 0 and "0" apart, and ignores every other id', () => {
    const sessions = new Sessions(sealer, () => settings);
    const session = sessions.open(sessions.create(about), ANONYMOUS, 'default')!;
    const [zero, text] = [new Ender(), new Ender()];
    track(session.live.calls, 0, zero);
    const done = track(session.live.calls, '0', text);
    for (const unknown of [1, null, undefined, {}]) {
      cancel(session.live.calls, unknown);
    }
    cancel(session.live.calls, 0);
    expect([zero.aborted, text.aborted]).toEqual([true, false]);
    done();
    cancel(session.live.calls, '0');
    expect(text.aborted).toBe(false);
  });
});
