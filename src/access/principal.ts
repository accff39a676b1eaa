/** Who asks. Everything that is kept apart per user is kept apart by `key`. */
export interface Principal {
  /** Issuer and id as one string that no other pair can form. */
  readonly key: string;
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

/** Everybody, while `auth.mode` is none; and the gateway itself, when it reads lists that are everybody's. */
export const ANONYMOUS: Principal = {
  key: JSON.stringify([null, 'anonymous']),
  id: 'anonymous',
  issuer: undefined,
  groups: [],
  scopes: [],
  expires: undefined,
  presented: undefined,
};
