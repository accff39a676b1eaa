import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import { pause } from '../base/time.ts';

/** Shortest and longest time between two looks at a task, in ms, whatever its server suggests. */
const LEAST_POLL_MS = 250;
const LONGEST_POLL_MS = 30_000;

export interface AwaitTaskOptions {
  readonly upstream: string;
  /** The result that made the task. */
  readonly created: JsonObject;
  /** One request about the task, in the name of the client. */
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** Answers of the client to questions that the task has. */
  readonly answers: (inputRequests: JsonObject) => Promise<JsonObject>;
  readonly signal: AbortSignal;
  /** Longest wait in all, in ms. */
  readonly totalMs: number;
}

/**
 * Waits for a task on behalf of a client of the era that has no tasks (SEP-2663, Task Polling): looks at it as often as
 * its server suggests, passes its questions on, cancels it when the client gives up. Resolves with the final result of
 * the request; rejects with the task's own error, CANCELLED or UPSTREAM_TIMEOUT.
 */
export async function awaitTask(options: AwaitTaskOptions): Promise<JsonObject> {
  const { upstream, created, ask, signal } = options;
  const taskId = stringAt(created, 'taskId');
  if (taskId === undefined) {
    throw new GatewayError('UPSTREAM_NOT_MCP', { upstream, logged: 'a task without an id' });
  }
  const until = Date.now() + options.totalMs;
  const answered = new Set<string>();
  for (let task = created; ; task = await ask('tasks/get', { taskId })) {
    const final = finalResult(task, upstream);
    if (final !== undefined) {
      return final;
    }
    await answerNew(task, taskId, answered, options);
    await pause(pollAfter(task), signal);
    if (signal.aborted || Date.now() > until) {
      await ask('tasks/cancel', { taskId });
      throw new GatewayError(signal.aborted ? 'CANCELLED' : 'UPSTREAM_TIMEOUT', { upstream });
    }
  }
}

function finalResult(task: JsonObject, upstream: string): JsonObject | undefined {
  switch (task['status']) {
    case 'completed':
      return objectAt(task, 'result') ?? {};
    case 'failed':
      throw new UpstreamRpcError(upstream, failureOf(task));
    case 'cancelled':
      throw new GatewayError('CANCELLED', { upstream });
    default:
      return undefined;
  }
}

function failureOf(task: JsonObject): { code: number; message: string; data?: unknown } {
  const error = objectAt(task, 'error');
  const { code, data } = error ?? {};
  const message = stringAt(error, 'message') ?? 'The task failed.';
  return { code: typeof code === 'number' ? code : -32603, message, ...(data === undefined ? {} : { data }) };
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
