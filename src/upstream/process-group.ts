import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

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
 * (C-032). Windows has no groups; there `taskkill` ends the tree.
 *
 * The timers here keep the gateway alive on purpose: it must not end before its children have.
 */
export function createProcessGroup(child: ChildProcess, platform: NodeJS.Platform): ProcessGroup {
  let running = child.pid !== undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false;
      resolve({ code, signal });
    });
  });
  /** Once the group was empty its number may belong to strangers: then nothing is signalled any more. */
  let gone = !running;

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
    gone ||= !running && !reach(0);
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
