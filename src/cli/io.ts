import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { withoutCredentials } from '../base/secrets.ts';

/** The edge of a command: where it writes and what it was started with. Answers go to stdout, everything else to stderr. */
export interface Io {
  /** The file of this very program, for what starts it again. */
  readonly main: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** A person looks at stderr: log lines are written for reading. */
  readonly readable: boolean;
  /** All of stdin as text. */
  readonly input: () => Promise<string>;
  /** Width of the terminal that stdout is; undefined where it is none. */
  readonly columns: number | undefined;
  /** Resolves with what asks the process to end: the name of a signal, `fault`, `end of npm`. */
  readonly stopped: () => Promise<string>;
  /** From here on the process serves others: it goes on where what it tells at stdout cannot be written. */
  readonly serving: () => void;
  /** Runs whenever the process is asked to read its configuration again (SIGHUP). */
  readonly onHangup: (run: () => void) => void;
}

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The real process, whose file is `main` and which `stopped` watches over. */
export function processIo(main: string, stopped: Io['stopped']): Io {
  let serving = false;
  // A reader that closes its end early (`patchbay tools | head`) has what it wanted; any other fault is one.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && !serving) {
      throw error;
    }
  });
  // Where nothing can be said of it, nothing comes of it either: the exit code tells enough.
  process.stderr.on('error', () => {});
  return {
    main,
    input: () => text(process.stdin),
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    env: process.env,
    out: (line) => process.stdout.write(withoutCredentials(line)),
    err: (line) => process.stderr.write(withoutCredentials(line)),
    readable: process.stderr.isTTY === true,
    stopped,
    serving: () => {
      serving = true;
    },
    onHangup,
  };
}

/** What the system said of a file (`EROFS`); undefined where anything else was thrown. */
export function systemCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'syscall' in thrown && 'code' in thrown ? String(thrown.code) : undefined;
}

/** A terminal that closes sends SIGHUP too, and then nobody is left to read a configuration for. */
function onHangup(run: () => void): void {
  const hadTerminal = process.stdin.isTTY || process.stderr.isTTY;
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) {
      process.kill(process.pid, 'SIGTERM');
    } else {
      run();
    }
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
