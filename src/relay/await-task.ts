import type { EndSignal } from '../base/ender.ts';
import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import { pause } from '../base/time.ts';
import { isPassing } from './passing-fault.ts';

/** Shortest and longest time between two looks at a task, in ms, whatever its server suggests. */
const LEAST_POLL_MS = 250;
const LONGEST_POLL_MS = 30_000;
/** Longest wait for the server's word that a task is cancelled, in ms. */
const CANCEL_MS = 5_000;

export interface AwaitTaskOptions {
  readonly upstream: string;
  /** The result that made the task. */
  readonly created: JsonObject;
  /** One request about the task, in the name of the client. */
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** Answers of the client to questions that the task has. */
  readonly answers: (inputRequests: JsonObject) => Promise<JsonObject>;
  readonly signal: EndSignal;
  /** Longest wait in all, in ms. */
  readonly totalMs: number;
}

/**
 * Waits for a task on behalf of a client of the era that has no tasks (SEP-2663, Task Polling): looks at it as often as
 * its server suggests, passes its questions on, and cancels it when it is not waited for any longer: the client gives up
 * or cannot answer, or it takes too long. Resolves with the final result of the request; rejects with the task's own
 * error, CANCELLED, UPSTREAM_TIMEOUT, or what kept a question from being answered.
 */
export async function awaitTask(options: AwaitTaskOptions): Promise<JsonObject> {
  const { upstream, created, ask } = options;
  const taskId = stringAt(created, 'taskId');
  if (taskId === undefined) {
    throw new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged: 'a task without an id' });
  }
  const end = await untilEnd(taskId, options).catch(async (thrown: unknown) => {
    // Whether the server takes the word changes nothing for the client.
    await Promise.race([Promise.allSettled([ask('tasks/cancel', { taskId })]), pause(CANCEL_MS)]);
    throw thrown;
  });
  return finalResult(end, upstream);
}

/** The task in its last state. */
async function untilEnd(taskId: string, options: AwaitTaskOptions): Promise<JsonObject> {
  const until = Date.now() + options.totalMs;
  const answered = new Set<string>();
  let task = options.created;
  while (!ENDS.has(task['status'])) {
    await answerNew(task, taskId, answered, options);
    task = await nextState(task, taskId, until, options);
  }
  return task;
}

/** Looks at the task again. A look that fails on its way says nothing of the task, which goes on: it is made once more. */
async function nextState(
  task: JsonObject,
  taskId: string,
  until: number,
  { upstream, ask, signal }: AwaitTaskOptions,
): Promise<JsonObject> {
  for (let failures = 0; ; failures += 1) {
    await pause(Math.min(pollAfter(task) * 2 ** failures, LONGEST_POLL_MS), signal);
    if (signal.aborted || Date.now() > until) {
      throw new GatewayError(signal.aborted ? 'CANCELLED' : 'UPSTREAM_TIMEOUT', { upstream });
    }
    try {
      return await ask('tasks/get', { taskId });
    } catch (thrown) {
      if (!isPassing(thrown, failures)) {
        throw thrown;
      }
    }
  }
}

const ENDS: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

function finalResult(task: JsonObject, upstream: string): JsonObject {
  switch (task['status']) {
    case 'failed':
      throw new UpstreamRpcError(upstream, failureOf(task));
    case 'cancelled':
      throw new GatewayError('CANCELLED', { upstream });
    default:
      return objectAt(task, 'result') ?? {};
  }
}

function failureOf(task: JsonObject): { code: number; message: string; data?: unknown } {
  const error = objectAt(task, 'error');
  const { code, data } = error ?? {};
  const message = stringAt(error, 'message') ?? 'The task failed.';
  // Only integers are codes (spec: basic/index, Error Responses).
  return {
    code: Number.isSafeInteger(code) ? Number(code) : -32603,
    message,
    ...(data === undefined ? {} : { data }),
  };
}

/** Each question is put once: a server repeats those that are open in every answer. */
async function answerNew(
  task: JsonObject,
  taskId: string,
  answered: Set<string>,
  options: AwaitTaskOptions,
): Promise<void> {
  const asked = isObject(task['inputRequests']) ? Object.entries(task['inputRequests']) : [];
  const fresh = asked.filter(([key]) => !answered.has(key));
  if (task['status'] !== 'input_required' || fresh.length === 0) {
    return;
  }
  const inputResponses = await options.answers(Object.fromEntries(fresh));
  for (const [key] of fresh) {
    answered.add(key);
  }
  await options.ask('tasks/update', { taskId, inputResponses });
}

function pollAfter(task: JsonObject): number {
  const suggested = task['pollIntervalMs'];
  return typeof suggested === 'number'
    ? Math.min(Math.max(suggested, LEAST_POLL_MS), LONGEST_POLL_MS)
    : LEAST_POLL_MS;
}
