/**
 * Who asks. What is a user's (sessions, tasks, limits) is kept apart by `key`; what an upstream answers may depend on what
 * the user came with, so that is kept apart by `grant`.
 */
export interface Principal {
  /** Issuer and id as one string that no other pair can form. */
  readonly key: string;
  /** The key with groups and scopes, in whatever order they came: one string that no other user or set can form. */
  readonly grant: string;
  readonly id: string;
  readonly issuer: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** When what it signed in with ends, in ms since the epoch; undefined: never. */
  readonly expires: number | undefined;
  /**
   * The token it came with, to be exchanged for another one (RFC 8693) and for nothing else: it is never sent to an
   * upstream. A function, so that no log prints it.
   */
  readonly presented: (() => string) | undefined;
}

/** `key` is a JSON array of strings: so it is never equal to a grant, which has arrays in it. */
export function createPrincipal(signedIn: Omit<Principal, 'grant'>): Principal {
  const { key, groups, scopes } = signedIn;
  return { ...signedIn, grant: JSON.stringify([key, groups.toSorted(), scopes.toSorted()]) };
}

/** Everybody, while `auth.mode` is none; and the gateway itself, when it reads lists that are everybody's. */
export const ANONYMOUS: Principal = createPrincipal({
  key: JSON.stringify([null, 'anonymous']),
  id: 'anonymous',
  issuer: undefined,
  groups: [],
  scopes: [],
  expires: undefined,
  presented: undefined,
});
