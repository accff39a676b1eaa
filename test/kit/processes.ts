import { readdirSync, readFileSync } from 'node:fs';
import { PATIENCE } from './waits.ts';

/** What /proc says of one process. */
export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  /** One letter, `Z` for a zombie. */
  readonly state: string;
  readonly group: number;
  readonly command: string;
}

/** Facts of one process, or undefined where there is none of that id. */
export function processFacts(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in brackets and may hold blanks and brackets itself; what follows the last one is fixed.
    const [state = '?', parent = '0', group = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    return { pid, parent: Number(parent), state, group: Number(group), command };
  } catch {
    // It ended between two reads, or never was.
    return undefined;
  }
}

function allProcesses(): readonly ProcessFacts[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processFacts(Number(name)) ?? []);
}

/** The process and everything below it, parents first; empty when it is gone. Zombies are part of it. */
export function processTree(root: number): readonly ProcessFacts[] {
  const all = allProcesses();
  const found = all.filter((each) => each.pid === root);
  for (const each of found) {
    found.push(...all.filter((other) => other.parent === each.pid && other.pid !== root));
  }
  return found;
}

/** Ids of what lives below a process, itself left out. */
export function descendants(root: number): readonly number[] {
  return processTree(root)
    .filter((each) => each.pid !== root)
    .map((each) => each.pid);
}

/** Processes that were started with `text` in their environment, wherever they hang now: finds orphans. */
export function processesMarked(text: string): readonly ProcessFacts[] {
  return allProcesses().filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text);
    } catch {
      // Gone, or somebody else's.
      return false;
    }
  });
}

/** True while the process runs; a zombie does not. */
export function alive(pid: number): boolean {
  const facts = processFacts(pid);
  return facts !== undefined && facts.state !== 'Z';
}

/** Sends a signal; a process that is gone already is fine. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
      throw error;
    }
  }
}

/** Resolves when no process of that id is left. With `reaped` a zombie does not count as gone. */
export async function untilGone(
  pid: number,
  { timeout = PATIENCE, reaped = false }: { readonly timeout?: number; readonly reaped?: boolean } = {},
): Promise<void> {
  const until = Date.now() + timeout;
  while (reaped ? processFacts(pid) !== undefined : alive(pid)) {
    if (Date.now() > until) {
      throw new Error(`process ${pid} is still there: ${JSON.stringify(processFacts(pid))}`);
    }
    // Nobody but its parent is told of the end of a process.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resolves when none of the processes is left; the error names those that are. */
export async function untilAllGone(pids: readonly number[], timeout?: number): Promise<void> {
  await Promise.all(pids.map((pid) => untilGone(pid, timeout === undefined ? {} : { timeout })));
}
