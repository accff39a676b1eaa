import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { Backlog } from '../../../src/front/backlog.ts';
import { ReplayBudget, type ReplayRules, Replays } from '../../../src/front/replay.ts';
import { SseStream } from '../../../src/front/sse-stream.ts';
import { Unread } from '../../../src/front/unread.ts';
import { overSignal } from '../../../src/front/visit.ts';

const server = createServer((_request, response) => server.emit('opened', response));
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

afterEach(() => {
  vi.useRealTimers();
});

/** One event stream over a real connection. Nothing is read before `text` is called. */
async function open(bufferBytes = 1_000_000) {
  const { port } = server.address() as AddressInfo;
  const request = get({ port, host: '127.0.0.1', agent: false });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  const [response] = (await once(server, 'opened')) as [ServerResponse];
  const stream = new SseStream({
    response,
    headers: {},
    keepAliveMs: 60_000,
    bufferBytes,
    unread: new Unread(() => Number.POSITIVE_INFINITY),
    log: SILENT,
  });
  const [reader] = await answered;
  reader.on('error', () => undefined);
  const text = async () => {
    let all = '';
    for await (const chunk of reader) {
      all += chunk;
    }
    return all;
  };
  return { stream, text, response, leave: () => request.destroy() };
}

const RULES: ReplayRules = {
  replayEvents: 4,
  replayBytes: 1_000,
  resumeFor: 60_000,
  primes: false,
};
const replaysWith = (rules: ReplayRules, budget = new ReplayBudget()) => new Replays(rules, budget);
const said = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data);
const ids = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? '');

describe('a backlog', () => {
  const slow = () => {
    const sink = new PassThrough({ highWaterMark: 10, encoding: 'utf8' });
    const cut: number[] = [];
    return { sink, cut, backlog: new Backlog(sink, 100, (waiting) => cut.push(waiting)) };
  };

  it('lets one piece of any size be on its way, and one wait', () => {
    const { backlog, cut } = slow();
    for (const piece of ['x'.repeat(10_000), 'y'.repeat(10_000)]) {
      backlog.write(piece);
    }
    expect(cut).toEqual([]);
    backlog.write('z');
    expect(cut).toEqual([10_001]);
  });

  it('gives a reader for whom much waits some time, over and over while it reads on', () => {
    vi.useFakeTimers();
    const { backlog, sink, cut } = slow();
    for (let n = 0; n < 10; n += 1) {
      backlog.write('x'.repeat(100));
    }
    vi.advanceTimersByTime(9_999);
    sink.emit('drain');
    backlog.write('y');
    vi.advanceTimersByTime(9_999);
    expect(cut).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(cut.length).toBe(1);
  });

  it('counts nothing against a reader that has caught up', () => {
    vi.useFakeTimers();
    const { backlog, sink, cut } = slow();
    for (let n = 0; n < 10; n += 1) {
      backlog.write('x'.repeat(100));
    }
    sink.resume();
    vi.runAllTicks();
    backlog.flush();
    vi.advanceTimersByTime(60_000);
    expect(cut).toEqual([]);
  });

  it('keeps the order, however it is read', async () => {
    const { backlog, sink, cut } = slow();
    const pieces = Array.from({ length: 40 }, (_, n) => `${n};`);
    for (const piece of pieces) {
      backlog.write(piece);
    }
    let read = '';
    sink.on('data', (chunk: string) => {
      read += chunk;
    });
    await expect.poll(() => read).toBe(pieces.join(''));
    expect(cut).toEqual([]);
  });
});

describe('an event stream', () => {
  it('carries a message many times as large as what may wait', async () => {
    const { stream, text } = await open(1_000);
    const large = JSON.stringify('x'.repeat(8_000_000));
    stream.send(large);
    stream.send('"more"');
    const all = text();
    await new Promise(setImmediate);
    stream.end();
    expect(said(await all).map((data) => data?.length)).toEqual([large.length, 6]);
  });

  it('is cut when its reader does not read', async () => {
    const { stream, text } = await open(100_000);
    const closed = new Promise<void>((resolve) => stream.onClose(resolve));
    const piece = JSON.stringify('x'.repeat(50_000));
    // Whatever the two ends of the connection can hold is not enough for this.
    for (let sent = 0; sent < 2_000 && stream.send(piece); sent += 1) {
      await new Promise(setImmediate);
    }
    expect(stream.connected).toBe(false);
    expect(stream.send(piece)).toBe(false);
    await closed;
    await expect(text()).rejects.toThrow();
  });

  it('tells of its end even where that came before anybody asked', async () => {
    const { stream, leave } = await open();
    leave();
    await new Promise<void>((resolve) => stream.onClose(resolve));
    await new Promise<void>((resolve) => stream.onClose(resolve));
    expect(stream.connected).toBe(false);
  });
});

describe('a signal of the end of a connection', () => {
  it('comes when the client leaves, and has come where it left before anybody asked', async () => {
    const { leave, response } = await open();
    const signal = overSignal(response);
    expect(signal.aborted).toBe(false);
    leave();
    await expect.poll(() => signal.aborted).toBe(true);
    expect(overSignal(response).aborted).toBe(true);
  });

  it('does not come when all was said', async () => {
    const { response } = await open();
    const signal = overSignal(response);
    const closed = new Promise<void>((resolve) => response.on('close', resolve));
    response.end();
    await closed;
    expect(signal.aborted).toBe(false);
  });
});

describe('what is kept of the streams of a session', () => {
  it('is bounded in number and bytes over all of them, the oldest goes first, the newest never', async () => {
    const replays = replaysWith(RULES);
    const [one, two] = [replays.open(), replays.open()];
    for (const json of ['1', '2', '3']) {
      one.send(json);
      two.send(json);
    }
    expect([one.kept, two.kept].map((kept) => kept.map(({ json }) => json))).toEqual([
      ['2', '3'],
      ['2', '3'],
    ]);
    const large = 'x'.repeat(5_000);
    one.send(large);
    expect(one.kept.map(({ json }) => json)).toEqual([large]);
    expect(two.kept).toEqual([]);
    two.send('4');
    expect(two.kept.map(({ json }) => json)).toEqual(['4']);
    expect(one.kept).toEqual([]);
  });

  it('is forgotten with a stream that has ended, once all of it was dropped', () => {
    const replays = replaysWith(RULES);
    const [over, running] = [replays.open(), replays.open()];
    over.send('1');
    over.end();
    expect(replays.find(`${over.id}.1`)).toBeDefined();
    for (const json of ['1', '2', '3', '4']) {
      running.send(json);
    }
    expect(replays.find(`${over.id}.1`)).toBeUndefined();
    expect(replays.find(`${running.id}.1`)).toMatchObject({ number: 1 });
  });

  it('is nothing where nothing was sent: such a stream is forgotten with its end', () => {
    const replays = replaysWith(RULES);
    const silent = replays.open();
    expect(replays.find(`${silent.id}.0`)).toBeDefined();
    silent.end();
    expect(replays.find(`${silent.id}.0`)).toBeUndefined();
  });

  it('is bounded over all sessions: the one that was silent longest gives first, the one that sends never', () => {
    const budget = new ReplayBudget();
    const sessions = Array.from({ length: 70 }, () => replaysWith(RULES, budget));
    const streams = sessions.map((replays) => replays.open());
    const piece = 'x'.repeat(RULES.replayBytes / 2);
    for (const stream of streams) {
      stream.send(piece);
      stream.send(piece);
    }
    // Six of the seventy are too many.
    expect(budget.bytes).toBe(64 * RULES.replayBytes);
    expect(streams.map(({ kept }) => kept.length)).toEqual([...Array(6).fill(0), ...Array(64).fill(2)]);
    const large = 'x'.repeat(100 * RULES.replayBytes);
    streams[3]?.send(large);
    expect(streams.flatMap(({ kept }) => kept.map(({ json }) => json))).toEqual([large]);
    for (const replays of sessions) {
      replays.close();
    }
    expect(budget.bytes).toBe(0);
  });

  it('is found by the ids that were given out, and by no other', async () => {
    const replays = replaysWith({ ...RULES, primes: true });
    const { stream, text } = await open();
    const resumable = replays.open();
    resumable.begin(stream);
    resumable.send('1');
    resumable.end();
    const given = ids(await text());
    expect(given.map((id) => replays.find(id)?.number)).toEqual([0, 1]);
    const [id] = given;
    for (const other of [`${resumable.id}.2`, `${resumable.id}.-1`, resumable.id, `${id}x`, '']) {
      expect(replays.find(other)).toBeUndefined();
    }
    expect(replaysWith(RULES).find(given[1] ?? '')).toBeUndefined();
  });

  it('comes all at once, together no more than one message to a slow reader', async () => {
    const replays = replaysWith({ ...RULES, replayEvents: 1_000, replayBytes: 10_000_000 });
    const resumable = replays.open();
    const piece = JSON.stringify('x'.repeat(50_000));
    for (let sent = 0; sent < 100; sent += 1) {
      resumable.send(piece);
    }
    const { stream, text } = await open(1_000);
    resumable.resume(stream, 0);
    resumable.end();
    expect(said(await text()).length).toBe(100);
  });
});

describe('a stream that nobody is connected to', () => {
  it('is given up after a while where it belongs to no call, and a call goes on', async () => {
    const replays = replaysWith({ ...RULES, resumeFor: 1 });
    let lapsed = 0;
    const own = replays.open(() => {
      lapsed += 1;
    });
    const call = replays.open();
    for (const resumable of [call, own]) {
      const { stream, leave } = await open();
      resumable.begin(stream);
      resumable.send('1');
      leave();
      await expect.poll(() => resumable.connected).toBe(false);
    }
    await expect.poll(() => lapsed).toBe(1);
    expect(own.send('2')).toBe(false);
    expect(replays.find(`${own.id}.1`)).toBeUndefined();
    expect(call.send('2')).toBe(true);
    expect(replays.find(`${call.id}.2`)).toBeDefined();
    call.end();
    await expect.poll(() => replays.find(`${call.id}.2`)).toBeUndefined();
  });

  it('is not given up when it is taken up again in time, by a connection that then is the only one', async () => {
    const replays = replaysWith(RULES);
    const own = replays.open(() => {});
    const [before, after] = [await open(), await open()];
    own.begin(before.stream);
    own.send('1');
    own.resume(after.stream, 1);
    own.send('2');
    expect(said(await before.text())).toEqual(['1']);
    own.end();
    expect(said(await after.text())).toEqual(['2']);
  });

  it('is given up with its session', async () => {
    const replays = replaysWith(RULES);
    const { stream, text } = await open();
    const call = replays.open();
    call.begin(stream);
    replays.close();
    await text();
    expect(call.send('1')).toBe(false);
  });
});
