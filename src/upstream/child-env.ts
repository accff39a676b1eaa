import type { StdioUpstream } from '../config/settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a program needs to run at all, to speak the user's language and to reach the network. No secrets live here. */
const POSIX_NAMES: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'LANG',
  'TMPDIR',
  'TEMP',
  'TMP',
  'TZ',
];
const NETWORK_NAMES: readonly string[] = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];
const WINDOWS_NAMES: readonly string[] = [
  'PATH',
  'PATHEXT',
  'COMSPEC',
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'USERNAME',
  'USERPROFILE',
  'HOMEDRIVE',
  'HOMEPATH',
  'PROCESSOR_ARCHITECTURE',
  'NUMBER_OF_PROCESSORS',
  'TEMP',
  'TMP',
  'TZ',
];
const LOCALE = /^LC_[A-Z]+$/;

/**
 * The environment of a child process (C-037): a fixed list of harmless names, those `passEnv` lists, and `env` on top.
 * Nothing else of the gateway's own environment, which holds its secrets, reaches a server. Names are compared without
 * case on Windows, as Windows does.
 */
export function childEnvironment(
  own: Environment,
  upstream: Pick<StdioUpstream, 'env' | 'passEnv'>,
  platform: NodeJS.Platform,
): Record<string, string> {
  const windows = platform === 'win32';
  const fold = (name: string) => (windows ? name.toUpperCase() : name);
  const wanted = new Set(
    [...(windows ? WINDOWS_NAMES : POSIX_NAMES), ...NETWORK_NAMES, ...upstream.passEnv].map(fold),
  );
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    // Values that start so are functions exported by bash; programs must not inherit code.
    if (value !== undefined && !value.startsWith('()') && (wanted.has(fold(name)) || LOCALE.test(name))) {
      result[name] = value;
    }
  }
  for (const [name, value] of Object.entries(upstream.env)) {
    const inherited = windows ? Object.keys(result).find((other) => fold(other) === fold(name)) : undefined;
    if (inherited !== undefined) {
      delete result[inherited];
    }
    result[name] = value;
  }
  return result;
}

/** One variable, found as the platform finds it. */
export function variable(env: Environment, name: string, platform: NodeJS.Platform): string | undefined {
  if (platform !== 'win32') {
    return env[name];
  }
  const found = Object.keys(env).find((other) => other.toUpperCase() === name.toUpperCase());
  return found === undefined ? undefined : env[found];
}
