/** The edge of a command: where it writes and what it was started with. Answers go to stdout, everything else to stderr. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** A person looks at stderr: log lines are written for reading. */
  readonly readable: boolean;
  /** Resolves with the name of the first signal that asks the process to end. */
  readonly stopped: () => Promise<string>;
}

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The real process. */
export function processIo(): Io {
  return {
    env: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    readable: process.stderr.isTTY === true,
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) {
          process.once(signal, () => resolve(signal));
        }
      }),
  };
}
