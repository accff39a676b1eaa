import type { Identity } from './naming.ts';

/**
 * Names of the gateway's own tools, in every style; no tool of a server is called so in a merged list, whether or not they
 * are served there: the names of others are the same in every view.
 */
export const SEARCH = 'search_tools';
export const DESCRIBE = 'describe_tools';
export const CALL = 'call_tool';

/** Owned by nobody: no upstream has an empty id. */
export const KEPT_FREE: ReadonlyMap<string, Identity> = new Map(
  [SEARCH, DESCRIBE, CALL].map((name) => [name, { upstream: '', name }]),
);
