import type { Command } from 'commander';
import type { ExitCode, Io } from './io.ts';
import type { GlobalOptions } from './open.ts';

export type Action<O> = (options: O, io: Io) => Promise<ExitCode>;

/** Wraps the action of a command for commander; what comes before the options are the arguments of the command. */
export type Run = <O extends GlobalOptions>(
  action: Action<O>,
  logLevel?: GlobalOptions['logLevel'],
) => (command: Command) => Promise<void>;

export function examples(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n');
}
