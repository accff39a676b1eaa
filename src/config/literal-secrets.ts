import type { Settings } from './settings.ts';

/** Shorter values mask half of every line, and are no secrets worth the name. */
const SHORTEST = 8;
const SECRET_NAME = /token|secret|key|passw|auth|credential/i;

/**
 * Values that stand in the configuration as they are and may be secrets: those of headers, of credentials, of
 * variables with a telling name, and of the query of a URL. Servers repeat what they were told, in bodies, on stderr and on stdout (case C-095).
 */
export function literalSecrets(settings: Pick<Settings, 'upstreams'>): readonly string[] {
  const values = Object.values(settings.upstreams).flatMap((upstream) => {
    if (upstream.kind === 'stdio') {
      return Object.entries(upstream.env)
        .filter(([name]) => SECRET_NAME.test(name))
        .map(([, value]) => value);
    }
    const query = [...new URL(upstream.url).searchParams.values()];
    return [
      ...Object.values(upstream.headers).flatMap((value) => [value, ...value.split(' ').slice(1)]),
      ...query,
      ...[upstream.credentials.token, upstream.credentials.clientSecret].filter(
        (value) => value !== undefined,
      ),
    ];
  });
  return [...new Set(values.filter((value) => value.length >= SHORTEST))];
}
