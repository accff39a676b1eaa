import { type DestinationStream, type LevelWithSilent, type LogFn, pino } from 'pino';
import pretty from 'pino-pretty';
import { GatewayError } from './errors.ts';
import { LogOutput } from './log-output.ts';
import { withoutSecrets } from './secrets.ts';

/** Structured log of one room or one upstream; made by `child({ upstream })` from the root. Any pino logger is one. */
export interface Log {
  level: string;
  readonly fatal: LogFn;
  readonly error: LogFn;
  readonly warn: LogFn;
  readonly info: LogFn;
  readonly debug: LogFn;
  readonly trace: LogFn;
  readonly silent: LogFn;
  child(bindings: Record<string, unknown>): Log;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogOptions {
  readonly level: LevelWithSilent;
  /** Readable lines for a person at a terminal; JSON lines for everything else. */
  readonly readable: boolean;
  /**
   * Texts that must never be written, whoever built the message: masked in every line (case C-095). Those that come up
   * later are told to base/secrets.ts.
   */
  readonly secrets?: readonly string[];
  /** Where lines go; stderr by default, since stdout belongs to answers (and to the stdio front). */
  readonly destination?: DestinationStream;
}

/**
 * Errors are logged with their code and the chain of causes. An allow-list, not a dump: undici errors carry the whole
 * request, child process errors the argument list, and both can hold secrets (case C-095).
 */
function describeError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) {
    return typeof thrown === 'string' ? cut(thrown, 500) : undefined;
  }
  if (thrown instanceof SyntaxError) {
    return { type: thrown.name }; // V8 quotes the text that it could not parse, and that is somebody's (case C-095)
  }
  const code = 'code' in thrown && typeof thrown.code === 'string' ? { code: thrown.code } : {};
  const own = thrown instanceof GatewayError ? { upstream: thrown.upstream, logged: thrown.logged } : {};
  const cause =
    thrown.cause !== undefined && depth < 4 ? { cause: describeError(thrown.cause, depth + 1) } : {};
  const stack = code.code === 'INTERNAL' || (depth > 0 && !('code' in thrown)) ? { stack: thrown.stack } : {};
  return { type: thrown.name, ...code, message: cut(thrown.message, 500), ...own, ...stack, ...cause };
}

/**
 * The beginning of a foreign text. It ends before the word that the limit falls into, or well before the limit in one
 * that is longer than secrets are: half a secret would not be known for one when the line is masked.
 */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).replace(/\S{1,128}$/, '')}…`;
}

/** Replaces every secret, longest first, since a short one may be part of a longer one. */
function masker(secrets: readonly string[]): (line: string) => string {
  const known = secrets
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    .toSorted((a, b) => b.length - a.length);
  return (line) => withoutSecrets(known.reduce((text, secret) => text.replaceAll(secret, '[secret]'), line));
}

/** The root log. Child logs share its level and destination. */
export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: masker(options.secrets ?? []) },
    serializers: { err: (thrown: unknown) => describeError(thrown) },
  };
  if (options.readable) {
    const stream = pretty({
      colorize: true,
      ignore: 'pid,hostname',
      destination: options.destination ?? stderr(true).stream(),
      sync: true,
    });
    return pino(settings, stream);
  }
  return pino(settings, options.destination ?? stderr(false));
}

let shared: LogOutput | undefined;

/** The one of this process, whichever log was first. */
function stderr(sync: boolean): LogOutput {
  shared ??= new LogOutput(2, { sync });
  return shared;
}

/** A log that says nothing, for tests. @internal */
export const SILENT: Log = pino({ level: 'silent' });
