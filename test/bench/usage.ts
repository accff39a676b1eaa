import { readdirSync, readFileSync } from 'node:fs';

/** What a process and all below it have used since they started. */
export interface Usage {
  /** s of processor time, user and system, of children that have ended too. */
  readonly cpu: number;
  /** Resident memory in MiB; pages that processes share count once for each. */
  readonly rss: number;
}

const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;

interface Process {
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

/** Reads /proc, so on Linux only. `except` names the scripts whose processes are not the target's own cost. */
export function usage(root: number, except?: string): Usage {
  const all = processes();
  const mine = within(all, root, except).flatMap((pid) => all.get(pid) ?? []);
  return {
    cpu: mine.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND,
    rss: (mine.reduce((sum, { pages }) => sum + pages, 0) * PAGE_BYTES) / 2 ** 20,
  };
}

/** A process and all below it, itself first. */
export function familyOf(root: number): readonly number[] {
  return within(processes(), root, undefined);
}

function within(
  all: ReadonlyMap<number, Process>,
  root: number,
  except: string | undefined,
): readonly number[] {
  const family = [root];
  for (const pid of family) {
    for (const [child, { parent }] of all) {
      if (parent === pid && (except === undefined || !commandOf(child).includes(except))) {
        family.push(child);
      }
    }
  }
  return family;
}

/** s of processor time that the whole machine has spent working since it booted. */
export function machineBusy(): number {
  const fields = (readFileSync('/proc/stat', 'latin1').split('\n')[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields;
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

function processes(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : '';
    // The name of the program stands in brackets and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length > 21) {
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      found.set(Number(name), { parent: Number(fields[1]), ticks, pages: Number(fields[21]) });
    }
  }
  return found;
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** '' for a process that has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
