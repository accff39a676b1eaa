import type { JsonObject } from '../base/json.ts';

/** The neutral words that every room but the codecs speaks; no protocol version appears outside `protocol/`. */

/** The four kinds of items a catalog holds. */
export const KINDS = ['tools', 'prompts', 'resources', 'templates'] as const;
export type Kind = (typeof KINDS)[number];

/** Method that lists a kind, the member of its result that holds the items, and the member that identifies one. */
export const KIND_FACTS = {
  tools: { list: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
  prompts: { list: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
  resources: { list: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  templates: {
    list: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
} as const satisfies Record<Kind, { list: string; member: string; key: string; capability: string }>;

/** What one notice of change can be about. Templates have no notice of their own: they change with the resources. */
export const CHANGES = ['tools', 'prompts', 'resources'] as const;
export type Change = (typeof CHANGES)[number];

/** One tool, prompt, resource or template exactly as its upstream sent it. */
export type Item = JsonObject;

/** Hints of one cacheable result (spec 2026-07-28: server/utilities/caching). `undefined` where none was given. */
export interface CacheHints {
  readonly ttlMs: number | undefined;
  readonly scope: 'public' | 'private' | undefined;
}

/** modern: 2026-07-28 and later, per-request `_meta`; legacy: 2025-11-25 and earlier, `initialize`. */
export type Era = 'modern' | 'legacy';

/** Self-reported name and version of a peer: a label for logs, never a key or a reason (spec: basic/index, `_meta`). */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
}
