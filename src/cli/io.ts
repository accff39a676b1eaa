import { text } from 'node:stream/consumers';

/** The edge of a command: where it writes and what it was started with. Answers go to stdout, everything else to stderr. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** A person looks at stderr: log lines are written for reading. */
  readonly readable: boolean;
  /** All of stdin as text. */
  readonly input: () => Promise<string>;
  /** Width of the terminal that stdout is; undefined where it is none. */
  readonly columns: number | undefined;
  /** Resolves with the name of the first signal that asks the process to end. */
  readonly stopped: () => Promise<string>;
}

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The real process. */
export function processIo(): Io {
  // A reader that closes its end early (`patchbay tools | head`) has what it wanted; any other fault is one.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      throw error;
    }
  });
  return {
    input: () => text(process.stdin),
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    env: process.env,
    out: (line) => process.stdout.write(line),
    err: (line) => process.stderr.write(line),
    readable: process.stderr.isTTY === true,
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) {
          process.once(signal, () => resolve(signal));
        }
      }),
  };
}
