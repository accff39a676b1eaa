import type { EndSignal } from '../base/ender.ts';
import type { JsonObject } from '../base/json.ts';
import { stringAt } from '../base/json.ts';
import { pause } from '../base/time.ts';
import { isPassing } from './passing-fault.ts';

/** Longest wait for the server's word that a task is cancelled, in ms. */
const CANCEL_MS = 5_000;
/** Until a wait that broke is taken up again, for the first time; twice as long each time after. */
const AGAIN_MS = 250;

export interface LegacyTaskOptions {
  /** The call itself; `params` ask for a task. */
  readonly create: (params: JsonObject) => Promise<JsonObject>;
  /** The wait for its result, in which the server may ask questions. */
  readonly result: (params: JsonObject) => Promise<JsonObject>;
  readonly cancel: (params: JsonObject) => Promise<JsonObject>;
  /** Aborts when nobody waits any more. */
  readonly signal: EndSignal;
}

/**
 * One call of a tool that runs only as a task, for a client whose era has no such tasks: makes the task and waits for its
 * result (2025-11-25: basic/utilities/tasks). A task that is given up, or whose result does not come, is cancelled.
 */
export async function throughTask(params: JsonObject, options: LegacyTaskOptions): Promise<JsonObject> {
  const created = await options.create({ ...params, task: {} });
  const taskId = stringAt(created['task'], 'taskId');
  if (taskId === undefined) {
    return created;
  }
  return resultOf({ taskId }, options).catch(async (thrown: unknown) => {
    // Whether the server takes the word changes nothing for the client.
    await Promise.race([Promise.allSettled([options.cancel({ taskId })]), pause(CANCEL_MS)]);
    throw thrown;
  });
}

/** Waits for the result. A wait that breaks on its way is taken up again. */
async function resultOf(task: JsonObject, { result, signal }: LegacyTaskOptions): Promise<JsonObject> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await result(task);
    } catch (thrown) {
      if (!isPassing(thrown, failures) || signal.aborted) {
        throw thrown;
      }
    }
    await pause(AGAIN_MS * 2 ** failures, signal);
  }
}
