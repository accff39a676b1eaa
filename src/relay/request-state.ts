import { createHash } from 'node:crypto';
import { GatewayError } from '../base/errors.ts';
import { ExactNumber } from '../base/exact-number.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { LongText } from '../base/long-text.ts';
import type { Sealer } from '../base/sealed.ts';
import type { RequestContext } from './context.ts';

const PURPOSE = 'request-state';
/** It may hold a state of an upstream's, which may be all that the upstream knows: the limit of a body is the bound. */
const LONGEST = Number.POSITIVE_INFINITY;

/** What a `requestState` of ours stands for. */
export type StateContent =
  /** The upstream's own state, passed through the client. */
  | { readonly kind: 'passed'; readonly state: string | undefined }
  /** A call of ours that waits for answers, at the replica of that name where there are several. */
  | { readonly kind: 'parked'; readonly id: string; readonly round: number; readonly home?: string }
  /** Nothing is kept: the call is made anew. */
  | { readonly kind: 'anew' };

/** The request a state belongs to: it opens for the same principal, server, method, name and arguments only. */
export interface StateSubject {
  readonly upstream: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/**
 * Seals the state of an unfinished request into the token that the client echoes, as the specification asks of servers
 * (2026-07-28: patterns/mrtr, Server Requirements): bound to principal and request, with an expiry.
 */
export class RequestStates {
  readonly #sealer: Sealer;
  readonly #ttlMs: () => number;

  constructor(sealer: Sealer, ttlMs: () => number) {
    this.#sealer = sealer;
    this.#ttlMs = ttlMs;
  }

  seal(content: StateContent, subject: StateSubject, context: RequestContext): string {
    return this.#sealer.seal(PURPOSE, {
      content,
      principal: context.principal.key,
      subject: digest(subject),
      expires: Date.now() + this.#ttlMs(),
    });
  }

  /** Throws STATE_INVALID for a state that is forged, foreign, of another request, or expired. */
  open(state: unknown, subject: StateSubject, context: RequestContext): StateContent {
    const opened = typeof state === 'string' ? this.#sealer.open(PURPOSE, state, LONGEST) : undefined;
    const { content, principal, expires } = opened ?? {};
    const holds =
      isObject(content) &&
      principal === context.principal.key &&
      opened?.['subject'] === digest(subject) &&
      typeof expires === 'number' &&
      expires > Date.now();
    if (!holds) {
      throw new GatewayError('STATE_INVALID');
    }
    // Sealed by `seal` alone, whose parameter has this type: nobody else has the key.
    return content as unknown as StateContent;
  }
}

function digest({ upstream, method, params }: StateSubject): string {
  const { name, uri, arguments: args } = params ?? {};
  return createHash('sha256')
    .update(JSON.stringify([upstream, method, name, uri, sorted(args)]))
    .digest('base64url');
}

/** Arguments with their members in one order: a client may rebuild the object it sends again. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  // What is kept as its peer wrote it is written so.
  if (!isObject(value) || value instanceof LongText || value instanceof ExactNumber) {
    return value;
  }
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // No list is one of these.
  return { members: members.map(([key, member]) => [key, sorted(member)]) };
}
