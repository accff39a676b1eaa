import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject, objectAt, without } from '../base/json.ts';
import { META } from './meta.ts';
import type { Era } from './model.ts';

/** What a server may ask its client: elicitation, sampling and roots, in both eras. */

export interface Asked {
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** Requests that may be answered with `input_required` (spec 2026-07-28: patterns/mrtr, Supported Requests). */
export const CONVERSABLE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** The version that brought `mode` and url elicitation to the `initialize` era. */
const URL_ELICITATION_SINCE = '2025-11-25';

/**
 * The client capabilities that this gateway can carry back to that client, cut out of what it declared. A modern client
 * cannot say that its roots changed, so nobody is promised that it will.
 */
export function carried(capabilities: JsonObject, era: Era): JsonObject {
  const { roots, sampling, elicitation } = capabilities;
  const plainRoots = isObject(roots) && era === 'modern' ? without(roots, 'listChanged') : roots;
  return {
    ...(isObject(roots) ? { roots: plainRoots } : {}),
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(elicitation) ? { elicitation } : {}),
  };
}

/**
 * What a client would have had to declare for this question, or undefined where it did: in the form of
 * `data.requiredCapabilities` of a -32021 error. `elicitation: {}` means form only (spec: client/elicitation).
 */
export function missingFor(question: Asked, capabilities: JsonObject): JsonObject | undefined {
  switch (question.method) {
    case 'elicitation/create':
      return missingElicitation(question, objectAt(capabilities, 'elicitation'));
    case 'sampling/createMessage':
      return missingSampling(question, objectAt(capabilities, 'sampling'));
    case 'roots/list':
      return objectAt(capabilities, 'roots') === undefined ? { roots: {} } : undefined;
    default:
      return { [question.method]: {} };
  }
}

function missingElicitation(question: Asked, declared: JsonObject | undefined): JsonObject | undefined {
  const mode = question.params?.['mode'] === 'url' ? 'url' : 'form';
  const bare = declared !== undefined && !isObject(declared['form']) && !isObject(declared['url']);
  const has = isObject(declared?.[mode]) || (mode === 'form' && bare);
  return has ? undefined : { elicitation: { [mode]: {} } };
}

function missingSampling(question: Asked, declared: JsonObject | undefined): JsonObject | undefined {
  const tools = question.params?.['tools'] !== undefined || question.params?.['toolChoice'] !== undefined;
  if (declared === undefined) {
    return { sampling: tools ? { tools: {} } : {} };
  }
  return tools && !isObject(declared['tools']) ? { sampling: { tools: {} } } : undefined;
}

/** An id of a task as its upstream knows it, and as the client does. */
export interface TaskNames {
  readonly theirs: string;
  readonly ours: string;
}

/** A question in the middle of a task, which names it (2025-11-25: tasks, Related Task Metadata), as the client knows it. */
export function ofTask<T extends Asked>(question: T, task: TaskNames | undefined): T {
  const meta = objectAt(question.params, '_meta');
  const related = objectAt(meta, META.relatedTask);
  if (task === undefined || related?.['taskId'] !== task.theirs) {
    return question;
  }
  const renamed = { ...meta, [META.relatedTask]: { ...related, taskId: task.ours } };
  return { ...question, params: { ...question.params, _meta: renamed } };
}

/** A question of a legacy server as a modern client takes it: `elicitationId` and tasks of its kind do not exist there. */
export function asModernQuestion({ method, params }: Asked): JsonObject {
  const meta = objectAt(params, '_meta');
  const kept = meta === undefined ? {} : { _meta: without(meta, META.relatedTask) };
  const plain: JsonObject = { ...without(params ?? {}, 'elicitationId', 'task'), ...kept };
  const form = method === 'elicitation/create' && plain['mode'] === undefined ? { mode: 'form' } : {};
  return { method, params: { ...form, ...plain } };
}

/** A question of a modern server as a legacy client of this version takes it. */
export function asLegacyQuestion({ method, params }: Asked, version: string): Asked {
  if (method !== 'elicitation/create' || params === undefined) {
    return { method, params };
  }
  if (params['mode'] === 'url') {
    return { method, params: { elicitationId: randomUUID(), ...params } };
  }
  return { method, params: version < URL_ELICITATION_SINCE ? without(params, 'mode') : params };
}

/** The links of a -32042 error (2025-11-25: client/elicitation, URL Elicitation Required Error). */
export function linksOf(data: unknown): readonly JsonObject[] {
  const listed = isObject(data) ? data['elicitations'] : undefined;
  return Array.isArray(listed)
    ? listed.filter((link) => isObject(link) && typeof link['url'] === 'string')
    : [];
}
