import { readSigningKey } from '../base/signing-key.ts';
import type { Path } from './problems.ts';
import type { HttpUpstream, Settings, UpstreamSettings } from './settings.ts';

type Report = (path: Path, message: string) => void;
type Credentials = HttpUpstream['credentials'];
type CredentialKey = Exclude<keyof Credentials, 'type'>;

/** Kinds of credentials that belong to the calling user. */
export const OWN_CREDENTIALS: ReadonlySet<Credentials['type']> = new Set(['tokenExchange', 'userHeader']);

const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Rules between values about who may use what; reports each that is broken. */
export function checkAccess(settings: Settings, report: Report): void {
  const { auth, access, listen, views, upstreams } = settings;
  if (auth.mode === 'keys' && auth.keys.length === 0) {
    report(['auth', 'keys'], '"auth.mode: keys" needs at least one key: make it with `patchbay keys new ID`');
  }
  if (auth.mode === 'jwt' && auth.jwt === undefined) {
    report(['auth', 'mode'], '"auth.mode: jwt" needs "auth.jwt" with an issuer');
  }
  if (auth.mode === 'jwt' && listen.publicUrl === undefined && ANY_ADDRESS.has(listen.host)) {
    // The metadata has to name the URL that clients use (RFC 9728, 3.3), and nobody can know it here.
    report(
      ['listen'],
      `with "auth.mode: jwt" and "host: ${listen.host}", "publicUrl" has to say what clients use`,
    );
  }
  const digests = new Set<string>();
  for (const [index, { sha256 }] of auth.keys.entries()) {
    if (digests.has(sha256.toLowerCase())) {
      report(['auth', 'keys', index, 'sha256'], 'another entry has this key: it could stand for either');
    }
    digests.add(sha256.toLowerCase());
  }
  for (const [index, { who, allow, deny }] of access.entries()) {
    if (who.groups.length + who.scopes.length + who.ids.length === 0 && !who.anyone) {
      report(['access', index, 'who'], 'names nobody: give "groups", "scopes", "ids" or "anyone: true"');
    }
    if (allow.length + deny.length === 0) {
      report(['access', index], 'needs "allow" or "deny"');
    }
  }
  for (const name of Object.keys(views)) {
    if (Object.hasOwn(upstreams, name)) {
      report(['views', name], `an upstream has this name, and "/mcp/${name}" can be only one of them`);
    }
  }
}

const OF_TOKENS = [
  'clientSecret',
  'clientKey',
  'clientKeyId',
  'tokenUrl',
  'issuer',
  'scope',
  'resource',
] as const satisfies readonly CredentialKey[];
/** Of these there has to be one. */
const EITHER = [
  ['clientSecret', 'clientKey'],
  ['issuer', 'tokenUrl'],
] as const satisfies readonly (readonly CredentialKey[])[];

/** What each kind of credentials needs, and what else it can use. */
const KEYS: Readonly<
  Record<
    Credentials['type'],
    { readonly needs: readonly CredentialKey[]; readonly may: readonly CredentialKey[] }
  >
> = {
  none: { needs: [], may: [] },
  bearer: { needs: ['token'], may: [] },
  clientCredentials: { needs: ['clientId'], may: OF_TOKENS },
  tokenExchange: { needs: ['clientId'], may: [...OF_TOKENS, 'audience'] },
  userHeader: { needs: ['name'], may: ['value'] },
};

/** The credentials of one upstream: complete, without what they cannot use, and possible with this sign-in. */
export function checkCredentials(
  upstream: UpstreamSettings,
  mode: Settings['auth']['mode'],
  report: Report,
): void {
  if (upstream.kind !== 'http') {
    return;
  }
  const { type, ...given } = upstream.credentials;
  const path = ['upstreams', upstream.id, 'credentials'];
  const { needs, may } = KEYS[type];
  // One that is off may hold variables that are not set, whose keys look as if they were not there.
  const missing = upstream.enabled ? needs.filter((each) => given[each] === undefined) : [];
  for (const key of missing) {
    report(path, `"type: ${type}" needs "${key}"`);
  }
  for (const key of Object.keys(given) as CredentialKey[]) {
    if (!needs.includes(key) && !may.includes(key)) {
      report([...path, key], `"type: ${type}" does not use this`);
    }
  }
  for (const [one, other] of EITHER) {
    const [first, second] = [given[one] !== undefined, given[other] !== undefined];
    if (may.includes(one) && first === second && (first || upstream.enabled)) {
      report(path, `"type: ${type}" needs either "${one}" or "${other}"`);
    }
  }
  checkClientKey(given, path, report);
  if (type === 'tokenExchange' && mode !== 'jwt') {
    report([...path, 'type'], 'needs "auth.mode: jwt": only then a user comes with a token to exchange');
  }
  if (type === 'userHeader' && mode === 'none') {
    report([...path, 'type'], 'needs "auth.mode: keys" or "jwt": nobody has a name otherwise');
  }
  if (OWN_CREDENTIALS.has(type) && upstream.isolation === 'shared') {
    report(
      ['upstreams', upstream.id, 'isolation'],
      `cannot be "shared": with "credentials.type: ${type}" each user has a connection of their own`,
    );
  }
  if (type === 'userHeader') {
    checkUserHeader(given, path, report);
  }
  const taken = type === 'userHeader' ? (given.name ?? '').toLowerCase() : 'authorization';
  if (type !== 'none' && Object.keys(upstream.headers).some((name) => name.toLowerCase() === taken)) {
    report(['upstreams', upstream.id, 'headers'], `"${taken}" is what "credentials" sends: give only one`);
  }
}

function checkClientKey({ clientKey, clientKeyId }: Partial<Credentials>, path: Path, report: Report): void {
  const key = clientKey === undefined ? undefined : readSigningKey(clientKey);
  if (key !== undefined && 'fault' in key) {
    report([...path, 'clientKey'], key.fault);
  }
  if (clientKeyId !== undefined && clientKey === undefined) {
    report([...path, 'clientKeyId'], 'is the name of a "clientKey", and there is none');
  }
}

/** Written by HTTP or by the protocol itself: a name of a user there would break requests, or pass for something else. */
const NOT_FOR_NAMES =
  /^(?:accept(?:-.*)?|authorization|connection|content-.*|cookie|expect|host|keep-alive|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i;
const PLACEHOLDER = /\$\{principal\.([^}]*)\}?/g;
const PLACES: readonly string[] = ['id', 'issuer', 'groups', 'scopes'];

function checkUserHeader({ name = '', value = '' }: Partial<Credentials>, path: Path, report: Report): void {
  if (NOT_FOR_NAMES.test(name)) {
    report([...path, 'name'], 'this header has a meaning of its own: choose another one, such as X-User');
  }
  for (const [, place = ''] of value.matchAll(PLACEHOLDER)) {
    if (!PLACES.includes(place)) {
      report([...path, 'value'], `a user has no "${place}": only ${PLACES.join(', ')}`);
    }
  }
}
