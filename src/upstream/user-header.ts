import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';

/** What `${principal.…}` stands for in a header that names the calling user. */

const PLACEHOLDER = /\$\{principal\.([^}]*)\}/g;
/** Nothing that HTTP would cut off, and nothing that it could not carry (RFC 9110, 5.5; Latin-1 as undici writes it). */
const WRITABLE = /^(?:[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa1-\xff]*[\x21-\x7e\xa1-\xff])?)?$/;

/**
 * The value for this user. Throws UPSTREAM_AUTH where it cannot be written as it is: line breaks, signs beyond Latin-1,
 * blanks at an end, or a group with a comma in it, which would read as two.
 */
export function userHeader(template: string, user: Principal, upstream: string): string {
  return template.replaceAll(PLACEHOLDER, (_whole, key: string) => {
    const value = textFor(key, user);
    if (value === undefined || !WRITABLE.test(value)) {
      throw new GatewayError('UPSTREAM_AUTH', {
        upstream,
        detail: `Your ${NAMES[key] ?? 'name'} cannot be told to it: no header can carry it.`,
        logged: `principal.${key} cannot be written in a header`,
      });
    }
    return value;
  });
}

const NAMES: Readonly<Record<string, string>> = {
  id: 'id',
  issuer: 'issuer',
  groups: 'list of groups',
  scopes: 'list of scopes',
};

/** Undefined for what is no member of a principal, or cannot be told apart from something else when it is joined. */
function textFor(key: string, user: Principal): string | undefined {
  switch (key) {
    case 'id':
      return user.id;
    case 'issuer':
      return user.issuer ?? '';
    case 'groups':
      return joined(user.groups, ',');
    case 'scopes':
      return joined(user.scopes, ' ');
    default:
      return undefined;
  }
}

function joined(values: readonly string[], separator: string): string | undefined {
  const clear = values.every((value) => value !== '' && value.trim() === value && !value.includes(separator));
  return clear ? values.join(separator) : undefined;
}
