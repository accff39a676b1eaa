import { isObject, type JsonObject } from '../base/json.ts';

/** Where in a token to look, as `auth.jwt.claims` says. */
export interface ClaimPaths {
  readonly id: string;
  readonly groups: string;
  readonly scopes: string;
}

export interface Identity {
  readonly id: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
}

/** Longest id that is taken: it goes into sealed tokens and headers. */
const LONGEST_ID = 512;

/** Who the claims of a verified token speak of; undefined where they name nobody. */
export function identityOf(claims: JsonObject, paths: ClaimPaths): Identity | undefined {
  const id = claimAt(claims, paths.id);
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) {
    return undefined;
  }
  const scopes = claimAt(claims, paths.scopes);
  return {
    id,
    // A text is one group, since names of groups may hold blanks.
    groups: texts(claimAt(claims, paths.groups)),
    scopes: typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : texts(scopes),
  };
}

/**
 * The claim at a path. A dot leads into an object, but the names of claims may hold dots as well (they are often
 * URLs): the longest name that is there wins at each step.
 *
 * @internal exported for the tests
 */
export function claimAt(claims: JsonObject, path: string): unknown {
  if (Object.hasOwn(claims, path)) {
    return claims[path];
  }
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot);
    const inner = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (isObject(inner)) {
      return claimAt(inner, path.slice(dot + 1));
    }
  }
  return undefined;
}

function texts(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((entry) => typeof entry === 'string' && entry !== '') as readonly string[];
}
