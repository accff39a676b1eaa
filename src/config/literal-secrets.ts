import { unescape as decoded } from 'node:querystring';
import { secretsOfKey } from '../base/signing-key.ts';
import type { Settings } from './settings.ts';

type Upstreams = Pick<Settings, 'upstreams'>['upstreams'];
type Upstream = Upstreams[string];
type Stdio = Extract<Upstream, { kind: 'stdio' }>;
type Http = Extract<Upstream, { kind: 'http' }>;

/** Shorter values mask half of every line, and are no secrets worth the name. */
const SHORTEST = 8;
const SECRET_NAME = /token|secret|key|passw|pwd|auth|credential|cookie/i;
/** Where a credential is, or how it is used, is none: GOOGLE_APPLICATION_CREDENTIALS, SSH_AUTH_SOCK, TOKEN_URL. */
const ABOUT_SECRETS = /(?:file|path|dir|sock|ur[li]|endpoint|host|issuer|method|type|name|id)$/i;

/**
 * Values that stand in the configuration as they are and may be secrets: those of headers, of credentials, of
 * variables with a telling name, and of the query of a URL. Servers repeat what they were told, in bodies, on stderr and on stdout (case C-095).
 * For the log, which loses nothing when too much is masked.
 */
export function literalSecrets(
  settings: Pick<Settings, 'upstreams'> & Partial<Pick<Settings, 'tracing' | 'state' | 'oldSealingKeys'>>,
): readonly string[] {
  const values = Object.values(settings.upstreams).flatMap((upstream) => {
    if (upstream.kind === 'stdio') {
      return Object.entries(upstream.env)
        .filter(([name]) => SECRET_NAME.test(name))
        .map(([, value]) => value);
    }
    const query = [...(addressOf(upstream)?.searchParams.values() ?? [])];
    return [...Object.values(upstream.headers).flatMap(ofHeader), ...query, ...ownCredentials(upstream)];
  });
  const forCollector = Object.values(settings.tracing?.headers ?? {}).flatMap(ofHeader);
  const shared = [...passwordsOfState(settings.state), ...(settings.oldSealingKeys ?? [])];
  return [...new Set([...values, ...forCollector, ...shared].filter((value) => value.length >= SHORTEST))];
}

/** A header's value, and what stands in it after the scheme. */
function ofHeader(value: string): readonly string[] {
  return [value, ...value.split(' ').slice(1)];
}

/**
 * Values of the configuration that sign somebody in, by the place where they stand: nothing that leaves the gateway may
 * hold them. Fewer than the secrets of the log, since a folder or the name of a team that came through a variable
 * belongs into the answers of servers. `interpolated`: what came from variables and files; `env`: for `passEnv`.
 */
export function credentialsOf(
  settings: Pick<Settings, 'upstreams' | 'sealingKey'> & Partial<Pick<Settings, 'state' | 'oldSealingKeys'>>,
  interpolated: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const foreign = new Set(interpolated);
  const { sealingKey, oldSealingKeys = [], state } = settings;
  const ofUpstreams = Object.values(settings.upstreams).flatMap((upstream) =>
    upstream.kind === 'stdio' ? ofProgram(upstream, env) : ofServer(upstream, foreign),
  );
  const keys = [...(sealingKey === undefined ? [] : [sealingKey]), ...oldSealingKeys];
  return [...new Set([...keys, ...passwordsOfState(state), ...ofUpstreams])];
}

function passwordsOfState(state: Settings['state'] | undefined): readonly string[] {
  return [...(state?.password === undefined ? [] : [state.password]), ...passwordsOf(state?.url ?? '')];
}

const isTelling = (name: string) => SECRET_NAME.test(name) && !ABOUT_SECRETS.test(name);

function ofProgram(
  { env, passEnv, args }: Stdio,
  own: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const passed = passEnv.map((name) => [name, own[name] ?? ''] as const);
  const variables = [...Object.entries(env), ...passed].flatMap(([name, value]) =>
    isTelling(name) ? [value] : passwordsOf(value),
  );
  // `--api-key=x`, `--api-key x`, `--header "Authorization: Bearer x"`
  const options = args.flatMap((arg, at) => {
    const [, option = '', value] = /^-*([\w-]+)[=:]\s*(.+)$/s.exec(arg) ?? [];
    if (value !== undefined && isTelling(option)) {
      return withParts(value);
    }
    const before = args[at - 1] ?? '';
    return /^-[\w-]+$/.test(before) && isTelling(before) && !arg.startsWith('-') ? [arg] : passwordsOf(arg);
  });
  return [...variables, ...options];
}

function ofServer(upstream: Http, interpolated: ReadonlySet<string>): readonly string[] {
  const { pathname = '', searchParams = new URLSearchParams() } = addressOf(upstream) ?? {};
  const headers = Object.entries(upstream.headers).flatMap(([name, value]) => {
    const parts = withParts(value);
    return isTelling(name) ? parts : parts.filter((part) => interpolated.has(part));
  });
  const query = [...searchParams].flatMap(([name, value]) =>
    isTelling(name) || interpolated.has(value) ? [value] : [],
  );
  const path = pathname.split('/').filter((segment) => interpolated.has(segment));
  return [...headers, ...query, ...path, ...ownCredentials(upstream)];
}

/** Undefined where a variable is not set: then the upstream is off, and its URL is not one yet. */
function addressOf({ url }: Http): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function ownCredentials({ credentials }: Http): readonly string[] {
  const { token, clientSecret, clientKey = '' } = credentials;
  return [token, clientSecret, ...secretsOfKey(clientKey)].filter((value) => value !== undefined);
}

/** `Bearer x` as a whole says as little as `Bearer`; x is what counts. */
function withParts(value: string): readonly string[] {
  const [, ...parts] = value.split(' ');
  return parts.length === 0 ? [value] : parts;
}

/** `postgres://user:password@host/`. */
function passwordsOf(value: string): readonly string[] {
  const { password = '' } = URL.canParse(value) ? new URL(value) : {};
  return password === '' ? [] : [decoded(password)];
}
