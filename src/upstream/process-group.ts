import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../base/log.ts';
import { KEEPER } from './keeper.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child that leads its own process group, and whatever it has started since. */
export interface ProcessGroup {
  /** How the child itself ended. */
  readonly exited: Promise<Exit>;
  /**
   * Ends every process of the group: waits `patienceMs` for them to leave by themselves, sends SIGTERM, and after
   * `graceMs` in all SIGKILL. Resolves when none is left (or cannot be seen to leave, some time after SIGKILL).
   */
  stop(patienceMs: number, graceMs: number): Promise<void>;
}

const POLL_MS = 20;
/** A killed process may linger as a zombie where nothing reaps it; it is not waited for any longer. */
const AFTERMATH_MS = 300;

/**
 * `child` must have been spawned detached, so that wrappers such as npx and sh and all that they start are one group
 * (C-032). Windows has no groups; there `taskkill` ends the tree. Until the group is empty, the keeper ends it if this
 * process is killed (decision 27).
 *
 * The timers here keep the gateway alive on purpose: it must not end before its children have.
 */
export function createProcessGroup(child: ChildProcess, platform: NodeJS.Platform, log: Log): ProcessGroup {
  let running = child.pid !== undefined;
  /** Once the group was empty its number may belong to strangers: then nothing is signalled any more. */
  let gone = !running;
  const release = child.pid === undefined || platform === 'win32' ? () => {} : KEEPER.keep(child.pid, log);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false;
      alive(); // at the first moment at which it may be empty
      resolve({ code, signal });
    });
  });

  const reach = (signal: NodeJS.Signals | 0): boolean => {
    if (gone || child.pid === undefined) {
      return false;
    }
    if (platform === 'win32') {
      return running && (signal === 0 || killTree(child.pid));
    }
    try {
      return process.kill(-child.pid, signal);
    } catch {
      // No such group, or none that may be signalled: for us it has ended either way.
      return false;
    }
  };
  const alive = (): boolean => {
    if (!gone && !running && !reach(0)) {
      gone = true;
      release();
    }
    return !gone;
  };
  const emptied = async (ms: number): Promise<boolean> => {
    const until = performance.now() + ms;
    while (alive()) {
      const left = until - performance.now();
      if (left <= 0) {
        return false;
      }
      await Promise.race([wait(Math.min(left, POLL_MS)), ...(running ? [exited] : [])]);
    }
    return true;
  };

  return {
    exited,
    async stop(patienceMs, graceMs) {
      if (await emptied(patienceMs)) {
        return;
      }
      reach('SIGTERM');
      if (await emptied(graceMs - patienceMs)) {
        return;
      }
      reach('SIGKILL');
      await emptied(AFTERMATH_MS);
      release();
    },
  };
}

function killTree(pid: number): boolean {
  spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true }).on(
    'error',
    () => {
      // Without taskkill there is no way to reach the tree; the poll sees whether the child has ended.
    },
  );
  return true;
}
