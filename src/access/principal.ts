/** Who asks. Everything that is kept apart per user is kept apart by `key`. */
export interface Principal {
  /** Issuer and id as one string that no other pair can form. */
  readonly key: string;
  readonly id: string;
  readonly issuer: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
}

/** Everybody, while `auth.mode` is none. */
export const ANONYMOUS: Principal = {
  key: JSON.stringify([null, 'anonymous']),
  id: 'anonymous',
  issuer: undefined,
  groups: [],
  scopes: [],
};
