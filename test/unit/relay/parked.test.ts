import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import type { RequestContext } from '../../../src/relay/context.ts';
import { ParkedCalls } from '../../../src/relay/parked.ts';
import type { ParkedHooks } from '../../../src/relay/parked-call.ts';
import { RequestStates } from '../../../src/relay/request-state.ts';
import { person } from '../access/people.ts';

const QUESTION = { method: 'roots/list', params: undefined };

/** One call of a client that can answer questions about its roots. */
function begin(run: (hooks: ParkedHooks) => Promise<JsonObject>) {
  const parked = new ParkedCalls(new RequestStates(createSealer(randomBytes(32)), () => 60_000), () => ({
    ttl: 60_000,
    perPrincipal: 16,
    rounds: 10,
  }));
  const context = {
    principal: person(),
    client: { info: { name: 'test', version: '1' }, capabilities: { roots: {} }, logLevel: undefined },
    signal: new AbortController().signal,
  } as unknown as RequestContext;
  const subject = { upstream: 'up', method: 'tools/call', params: { name: 'ask' } };
  return { parked, outcome: parked.begin({ context, subject, onNotice: () => {} }, run) };
}

describe('a call that has its result', () => {
  // On a pipe a question belongs to no call for sure: the other call that caused it would wait for its answer for ever.
  it('leaves no question open that its server still waits for, and takes none that comes later', async () => {
    const settled: unknown[] = [];
    const note = (question: Promise<JsonObject>) => {
      question.catch((thrown: unknown) => settled.push(thrown));
    };
    let late = () => {};
    const { parked, outcome } = begin(async ({ onQuestion, signal }) => {
      await Promise.resolve();
      note(onQuestion({ ...QUESTION, signal }));
      late = () => note(onQuestion({ ...QUESTION, signal }));
      return { done: true };
    });
    expect(await outcome).toEqual({ kind: 'done', result: { done: true } });
    await expect.poll(() => settled).toEqual([expect.objectContaining({ code: 'CANCELLED' })]);
    expect(parked.size).toBe(0);
    late();
    await expect.poll(() => settled.length).toBe(2);
  });
});

it('a call that fails leaves no question open that its server still waits for', async () => {
  const settled: unknown[] = [];
  const { parked, outcome } = begin(async ({ onQuestion, signal }) => {
    await Promise.resolve();
    onQuestion({ ...QUESTION, signal }).catch((thrown: unknown) => settled.push(thrown));
    throw new Error('refused');
  });
  await expect(outcome).rejects.toThrow('refused');
  await expect.poll(() => settled).toEqual([expect.objectContaining({ code: 'CANCELLED' })]);
  expect(parked.size).toBe(0);
});
