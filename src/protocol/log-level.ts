import type { Era } from './model.ts';

/** Syslog severities, least severe first (spec: server/utilities/logging). */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/**
 * Whether a log message of this level goes to a client. A modern client hears nothing unless its request named a level;
 * a legacy one that set none leaves the choice to the server.
 */
export function logLevelReaches(
  level: string | undefined,
  context: {
    readonly codec: { readonly era: Era };
    readonly client: { readonly logLevel: string | undefined };
  },
): boolean {
  const wanted = context.client.logLevel;
  if (wanted === undefined) {
    return context.codec.era === 'legacy';
  }
  const rank = (name: string | undefined) => (LEVELS as readonly unknown[]).indexOf(name);
  return rank(level) >= rank(wanted);
}

export function isLogLevel(value: unknown): value is (typeof LEVELS)[number] {
  return LEVELS.some((level) => level === value);
}

/** True when `level` lets more through than `than`; any level does where none was set. */
export function talksMore(level: string, than: string | undefined): boolean {
  const rank = (name: string) => (LEVELS as readonly string[]).indexOf(name);
  return than === undefined || rank(level) < rank(than);
}
