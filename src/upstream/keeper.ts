import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';

interface Shell {
  readonly child: ChildProcess;
  readonly orders: Socket;
}

interface Kept {
  readonly log: Log;
}

/** Where POSIX systems have it; a search through PATH could be led astray. */
const SH = '/bin/sh';
/** A shell that dies is started anew, but not in a circle. */
const RESTART_MS = 1_000;

/**
 * Reads `+ GROUP` and `- GROUP` until nobody is left to write. The children, whose stdin closed at the same moment, get
 * a second to go by themselves, two more after SIGTERM, and then SIGKILL. A group that was seen empty is never
 * signalled again, since its number may be another's by then. `kill -TERM -GROUP`, without `-s` and without `--`, is
 * the one form that dash, bash, mksh and busybox agree on.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=
without() {
  rest=
  for each in $groups; do [ "$each" = "$1" ] || rest="$rest $each"; done
  groups=$rest
}
remain() {
  for group in $groups; do kill -0 "-$group" || without "$group"; done
  [ -n "$groups" ]
}
send() {
  for group in $groups; do kill "-$1" "-$group"; done
}
while read -r order group; do
  case $order in
    +) groups="$groups $group" ;;
    -) without "$group" ;;
  esac
done
remain && sleep 1 && remain && send TERM && sleep 1 && remain && sleep 1
remain && send KILL
`;

/**
 * Ends process groups when the gateway is gone, however it went (decision 27). Two nets: whatever ends this process
 * through Node (`process.exit`, a fault that nobody caught) kills the groups right there; for SIGKILL and every other
 * death that no program can act on there is a shell, which notices that its pipe has closed.
 *
 * POSIX only: on Windows libuv puts children into a job that the system ends with the gateway.
 *
 * @internal
 */
export class Keeper {
  readonly #sh: string;
  readonly #kept = new Map<number, Kept>();
  #shell: Shell | undefined;
  #missing = false;
  #armed = false;
  #cancelRestart = () => {};

  /** `sh` is the shell to run. Nothing is started before the first group, and the shell ends with the last one. */
  constructor(sh = SH) {
    this.#sh = sh;
  }

  /** Keeps an eye on a process group until the returned function is called; calling that twice is fine. */
  keep(group: number, log: Log): () => void {
    if (!this.#armed) {
      this.#armed = true;
      process.once('exit', () => this.#killAll());
    }
    const entry = { log };
    this.#kept.set(group, entry);
    if (this.#shell === undefined) {
      this.#start();
    } else {
      this.#order('+', group);
    }
    return () => this.#release(group, entry);
  }

  #release(group: number, entry: Kept): void {
    if (this.#kept.get(group) !== entry) {
      return;
    }
    this.#kept.delete(group);
    this.#order('-', group);
    if (this.#kept.size === 0) {
      this.#cancelRestart();
      const orders = this.#shell?.orders;
      this.#shell = undefined;
      orders?.end();
    }
  }

  #order(sign: '+' | '-', group: number): void {
    this.#shell?.orders.write(`${sign} ${group}\n`);
  }

  #start(): void {
    this.#cancelRestart();
    if (this.#missing) {
      return;
    }
    // A session of its own: Ctrl-C in a terminal and the end of the terminal are none of its business. No variable but
    // the one that `sleep` is found by, no folder that could be unmounted, no stream of ours that it could hold open.
    const child = spawn(this.#sh, ['-c', SCRIPT, 'patchbay-keeper'], {
      cwd: '/',
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // The type is that of any child; a pipe to one is a socket.
    const orders = child.stdin as Socket;
    child.on('error', (error) => this.#lost(child, error));
    child.on('exit', () => this.#lost(child, undefined));
    // A broken pipe is the end of the shell, which is heard of above.
    orders.on('error', () => orders.destroy());
    child.unref();
    orders.unref();
    this.#shell = { child, orders };
    for (const group of this.#kept.keys()) {
      this.#order('+', group);
    }
  }

  #lost(child: ChildProcess, cause: unknown): void {
    if (this.#shell?.child !== child) {
      return;
    }
    this.#shell = undefined;
    const log = [...this.#kept.values()].at(-1)?.log;
    this.#missing = child.pid === undefined;
    if (this.#missing) {
      log?.warn({ err: cause }, 'there is no shell: servers may outlive this gateway if it is killed');
      return;
    }
    log?.warn('the process that ends servers after this one was ended; it is started anew');
    this.#cancelRestart = after(RESTART_MS, () => this.#start());
  }

  #killAll(): void {
    for (const group of this.#kept.keys()) {
      try {
        process.kill(-group, 'SIGKILL');
      } catch {
        // Empty by now.
      }
    }
  }
}

/** The one of this process: whoever gets a group to end must not have to be handed it. */
export const KEEPER = new Keeper();
