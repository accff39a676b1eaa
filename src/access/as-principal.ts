import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import { principalOfKey } from './keys.ts';
import { ANONYMOUS, createPrincipal, type Principal } from './principal.ts';

/** Longest text that is looked at: an id has at most 512 signs, and somebody may be in many groups. */
const LONGEST = 16_384;

const FORMS = 'Give an id, group:NAME, key:ID, or JSON such as {"id":"ann","groups":["eng"],"scopes":[]}.';

/**
 * Somebody who is imagined, to say what they would see: `anonymous`, an id (of a key, where there are keys),
 * `group:NAME`, `key:ID`, or JSON with `id`, `groups` and `scopes`. Never let in anywhere. Throws QUERY_INVALID.
 */
export function imagined(text: string, auth: Settings['auth']): Principal {
  if (text === '' || text.length > LONGEST) {
    throw new GatewayError('QUERY_INVALID', { detail: FORMS });
  }
  if (text.startsWith('{')) {
    return fromJson(text, auth);
  }
  const group = /^group:(.+)$/s.exec(text)?.[1];
  if (group !== undefined) {
    return somebody(auth, { id: '', groups: [group], scopes: [] });
  }
  const key = /^key:(.+)$/s.exec(text)?.[1];
  const entry = auth.keys.find(({ id }) => id === (key ?? text));
  if (key !== undefined && entry === undefined) {
    throw new GatewayError('QUERY_INVALID', { detail: 'There is no key of this id in auth.keys.' });
  }
  if (entry !== undefined && (key !== undefined || auth.mode === 'keys')) {
    return principalOfKey(entry);
  }
  return text === ANONYMOUS.id ? ANONYMOUS : somebody(auth, { id: text, groups: [], scopes: [] });
}

function fromJson(text: string, auth: Settings['auth']): Principal {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new GatewayError('QUERY_INVALID', { detail: FORMS, cause });
  }
  const { id = '', groups = [], scopes = [], ...rest } = isObject(value) ? value : {};
  if (
    typeof id !== 'string' ||
    !isTexts(groups) ||
    !isTexts(scopes) ||
    !isObject(value) ||
    Object.keys(rest).length > 0
  ) {
    throw new GatewayError('QUERY_INVALID', { detail: FORMS });
  }
  return somebody(auth, { id, groups, scopes });
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** As sign-in would make them, so that what is kept for them is found. */
function somebody(
  { mode, jwt }: Settings['auth'],
  about: Pick<Principal, 'id' | 'groups' | 'scopes'>,
): Principal {
  const issuer = mode === 'jwt' ? jwt?.issuer : undefined;
  const owner = mode === 'jwt' ? [mode, issuer, about.id] : [mode === 'keys' ? mode : null, about.id];
  const key = JSON.stringify(owner);
  return createPrincipal({ ...about, key, issuer, expires: undefined, presented: undefined });
}
