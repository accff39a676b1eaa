import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { SILENT } from '../../../src/base/log.ts';
import type { RpcResponse } from '../../../src/protocol/json-rpc.ts';
import type { CallOptions, Question } from '../../../src/upstream/call.ts';
import { Calls } from '../../../src/upstream/calls.ts';
import { Inquiries } from '../../../src/upstream/inquiries.ts';

const OPTIONS: CallOptions = {
  envelope: { clientInfo: { name: 'c', version: '1' }, clientCapabilities: {} },
  timeoutMs: 60_000,
  totalMs: 60_000,
};
const MOST_OPEN = 100;

/** A client that answers nothing by itself, and a server that asks it. */
function asking() {
  const calls = new Calls('up', () => {});
  const sent: RpcResponse[] = [];
  const heard: Question[] = [];
  const inquiries = new Inquiries(async (reply) => void sent.push(reply), SILENT);
  const ask = (question: Question) => {
    heard.push(question);
    return new Promise<JsonObject>((_, reject) =>
      question.signal.addEventListener('abort', () => reject(new Error('withdrawn'))),
    );
  };
  const begin = () => calls.open('tools/call', OPTIONS);
  return {
    sent,
    heard,
    begin,
    askIn: (call: ReturnType<typeof begin>, id: number) =>
      inquiries.answer({ jsonrpc: '2.0', id, method: 'elicitation/create' }, ask, call),
  };
}

it('a server that goes on without its answers is heard all the same: the oldest such question is given up', async () => {
  const { begin, askIn, sent, heard } = asking();
  for (let id = 0; id < MOST_OPEN; id += 1) {
    const call = begin();
    askIn(call, id);
    call.resolve({ jsonrpc: '2.0', id: call.id, result: {} });
  }
  expect(sent).toEqual([]);
  askIn(begin(), MOST_OPEN);
  expect(heard).toHaveLength(MOST_OPEN + 1);
  await expect.poll(() => sent).toEqual([expect.objectContaining({ id: 0, error: expect.anything() })]);
});

it('questions whose calls still wait for them are kept, and more are not heard', () => {
  const { begin, askIn, sent, heard } = asking();
  const call = begin();
  for (let id = 0; id <= MOST_OPEN; id += 1) {
    askIn(call, id);
  }
  expect([heard.length, sent]).toEqual([MOST_OPEN, []]);
});
