import { createHash } from 'node:crypto';
import type { JsonObject } from '../../src/base/json.ts';
import type { Agent, AgentOptions, Connect } from '../kit/agent.ts';

/** People who sign in with keys, and what a gateway's configuration says of them. */

export interface Person {
  readonly groups?: readonly string[];
  readonly scopes?: readonly string[];
}

/** The key of somebody; its user is called like it. */
const keyOf = (id: string) => `key-of-${id}`;

/** The section `auth` for these people. */
export function authFor(people: Readonly<Record<string, Person>>): JsonObject {
  const keys = Object.entries(people).map(([id, { groups = [], scopes = [] }]) => ({
    id,
    sha256: createHash('sha256').update(keyOf(id)).digest('hex'),
    groups,
    scopes,
  }));
  return { mode: 'keys', keys };
}

export function headersOf(id: string): { readonly authorization: string } {
  return { authorization: `Bearer ${keyOf(id)}` };
}

/** An agent of that user. */
export function connectAs(
  connect: Connect,
  id: string,
  url: string,
  options: AgentOptions = {},
): Promise<Agent> {
  return connect(url, { ...options, headers: { ...options.headers, ...headersOf(id) } });
}

/** An error answer with the names that were asked for taken out, so that two can be compared. */
export function told(
  answer: { readonly error?: unknown; readonly status: number },
  ...names: readonly string[]
): string {
  const text = JSON.stringify([answer.status, answer.error]);
  const longestFirst = names.toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((before, name) => before.replaceAll(name, '<name>'), text);
}
