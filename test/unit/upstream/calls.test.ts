import { describe, expect, it } from 'vitest';
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
