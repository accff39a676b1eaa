import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import type { RpcNotification } from '../../../src/protocol/json-rpc.ts';
import type { CallOptions } from '../../../src/upstream/call.ts';
import { Calls } from '../../../src/upstream/calls.ts';

const LOG: RpcNotification = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } };
const SHARED = { isolated: false, modern: true };

describe('whose a log message is that names no call, on a connection that many share', () => {
  const calls = () => new Calls('up', () => {});
  const logged = (signal?: AbortSignal): CallOptions => ({
    envelope: { clientInfo: { name: 'c', version: '1' }, clientCapabilities: {}, logLevel: 'info' },
    timeoutMs: 60_000,
    totalMs: 60_000,
    signal,
  });
  /** A call that is given up at once; its id. */
  const giveUp = async (open: Calls): Promise<number> => {
    const control = new AbortController();
    const call = open.open('tools/call', logged(control.signal));
    control.abort();
    await expect(call.answer).rejects.toMatchObject({ code: 'CANCELLED' });
    return call.id;
  };

  it('is the only one that asked for logs, unless one was given up that has not been answered', async () => {
    const open = calls();
    const call = open.open('tools/call', logged());
    expect(open.ownerOf(LOG, undefined, SHARED)).toBe(call);
    const late = await giveUp(open);
    expect(open.ownerOf(LOG, undefined, SHARED)).toBeUndefined();
    open.late(late);
    expect(open.ownerOf(LOG, undefined, SHARED)).toBe(call);
    call.resolve({ jsonrpc: '2.0', id: call.id, result: {} });
    await call.answer;
  });

  it('is nobody while another request is under way, which a server may write for though it asked for none', async () => {
    const open = calls();
    const call = open.open('tools/call', logged());
    const { logLevel: _, ...envelope } = logged().envelope;
    const other = open.open('tools/call', { ...logged(), envelope });
    expect(open.ownerOf(LOG, undefined, SHARED)).toBeUndefined();
    other.resolve({ jsonrpc: '2.0', id: other.id, result: {} });
    expect(open.ownerOf(LOG, undefined, SHARED)).toBe(call);
    call.resolve({ jsonrpc: '2.0', id: call.id, result: {} });
    expect(open.ownerOf(LOG, undefined, SHARED)).toBeUndefined();
    await Promise.all([call.answer, other.answer]);
  });

  it('beyond a thousand given up it is nobody, however many of them are answered later', async () => {
    const open = calls();
    const late: number[] = [];
    for (let times = 0; times < 1_001; times += 1) {
      late.push(await giveUp(open));
    }
    const call = open.open('tools/call', logged());
    for (const id of late) {
      open.late(id);
    }
    expect(open.ownerOf(LOG, undefined, SHARED)).toBeUndefined();
    call.resolve({ jsonrpc: '2.0', id: call.id, result: {} });
    await call.answer;
  });
});

describe('a question that names no call', () => {
  const asks = (onQuestion: CallOptions['onQuestion']): CallOptions => ({
    envelope: { clientInfo: { name: 'c', version: '1' }, clientCapabilities: {} },
    timeoutMs: 60_000,
    totalMs: 60_000,
    onQuestion,
  });
  const lost = () => new GatewayError('CANCELLED');
  const question = (signal = new AbortController().signal) => ({
    method: 'elicitation/create',
    params: {},
    signal,
  });
  /** Two calls of one client. The first is asked, and ends before it is answered, where `ends` says so. */
  const scene = ({ ends }: { readonly ends: 'answered' | 'given up' | 'not' }) => {
    const open = new Calls('up', () => {});
    const asked: string[] = [];
    const first = open.open(
      'tools/call',
      asks(async () => {
        asked.push('first');
        if (ends === 'answered') {
          first.resolve({ jsonrpc: '2.0', id: first.id, result: {} });
        } else if (ends === 'given up') {
          first.reject(lost());
        }
        throw lost();
      }),
    );
    const second = open.open(
      'tools/call',
      asks(async () => {
        asked.push('second');
        return { action: 'accept' };
      }),
    );
    const close = () => {
      for (const call of [first, second]) {
        call.resolve({ jsonrpc: '2.0', id: call.id, result: {} });
      }
    };
    first.answer.catch(() => {});
    return { ask: open.asking(first), asked, close };
  };

  it('goes to another call of the client, where the one that was taken for its own ended with it', async () => {
    const { ask, asked, close } = scene({ ends: 'answered' });
    expect(await ask(question())).toEqual({ action: 'accept' });
    expect(asked).toEqual(['first', 'second']);
    close();
  });

  it.each([
    { what: 'its call goes on: then its client did not answer', ends: 'not', withdrawn: false },
    { what: 'its call was given up', ends: 'given up', withdrawn: false },
    { what: 'the server takes it back', ends: 'answered', withdrawn: true },
  ] as const)('is asked once where $what', async ({ ends, withdrawn }) => {
    const { ask, asked, close } = scene({ ends });
    const { signal } = withdrawn ? { signal: AbortSignal.abort() } : new AbortController();
    await expect(ask(question(signal))).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(asked).toEqual(['first']);
    close();
  });
});
