import type { CacheHints } from '../protocol/model.ts';
import type { Principal } from './principal.ts';

declare const made: unique symbol;

/**
 * The name of one kept answer: what was asked of which upstream, and for whom. Nothing is kept under any other name, and
 * only this file can make one, so no answer can be found by somebody it was not given to.
 */
export type ScopeKey = string & { readonly [made]: true };

/** What was asked: the params as far as they change the answer (spec 2026-07-28: server/utilities/caching, Cache Key). */
export interface Asked {
  readonly upstream: string;
  readonly method: string;
  readonly params?: unknown;
}

/**
 * `owner`: whose answer it is, with the rights that it was given for; undefined: everybody's. The same user with a token
 * for less is somebody else here.
 */
export function scopeKey({ upstream, method, params }: Asked, owner: Principal | undefined): ScopeKey {
  return JSON.stringify([upstream, method, params ?? null, owner?.grant ?? null]) as ScopeKey;
}

/** How an upstream is reached, and what the configuration says of its answers. */
export interface Scoped {
  /** With the credential or the connection of the calling user: then it knows who asks. */
  readonly own: boolean;
  /** `private`: every answer is one for its asker. */
  readonly scope: 'auto' | 'private';
  /** Whether `public` is believed of an upstream that knows who asks. */
  readonly trustPublic: boolean;
}

/**
 * Whether an answer with this hint may be served to everybody (design, Catalog and cache). An upstream that is reached
 * with one identity for all cannot know who asks, so only what it calls `private` is not; one that does know has to say
 * `public` and be believed. The configuration can make answers more private, never less.
 */
export function isForEverybody(upstream: Scoped, hinted: CacheHints['scope']): boolean {
  if (upstream.scope === 'private') {
    return false;
  }
  return upstream.own ? upstream.trustPublic && hinted === 'public' : hinted !== 'private';
}
