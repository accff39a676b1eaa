import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';

/** Files are looked at so long after a sign that one has changed, in ms, and again until nothing more happens to them. */
const SETTLE_MS = 100;
/** Not every file system tells (mounts of single files, networks): they are looked at this often anyway, in ms. */
const POLL_MS = 5_000;

/** How exactly times of files can be compared with ours, in ms. */
const CLOCK_MS = 1;

export interface WatchOptions {
  /** Absolute paths, whether there are such files or not. Asked for whenever they are looked at. */
  readonly files: () => readonly string[];
  /** When they were read, in ms since the epoch: what is newer at the first look has changed in between. */
  readonly readAt?: () => number;
  /** What is at one of these paths is another file than before, or another content. */
  readonly changed: () => void;
  readonly log: Log;
}

/**
 * Watches files by the folders that they are in: editors and `kubectl` put another file into the place of one, or turn a
 * link in the way to it. What a folder tells is only a sign to look.
 */
export function watchFiles(options: WatchOptions): FileWatch {
  const watching = new Watching(options);
  watching.begin();
  return watching;
}

export interface FileWatch {
  /** Something may have changed, or other files are of interest now. However many signs come, it looks once for all. */
  sign(): void;
  /** Nothing is heard of after this. */
  stop(): void;
}

/** By path. */
type Marks = ReadonlyMap<string, string | undefined>;

/** Whether one that was looked at before is another one now. */
function differs(before: Marks, now: Marks): boolean {
  return [...now].some(([path, mark]) => before.has(path) && before.get(path) !== mark);
}

class Watching implements FileWatch {
  readonly #options: WatchOptions;
  readonly #folders = new Map<string, FSWatcher>();
  /** How the files were when they last stood still. */
  #known: Marks = new Map();
  #last: Marks = new Map();
  #cancel = () => {};
  #soon = false;
  #stopped = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  begin(): void {
    void this.#look();
  }

  sign(): void {
    if (!this.#soon && !this.#stopped) {
      this.#plan(SETTLE_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    for (const watcher of this.#folders.values()) {
      watcher.close();
    }
  }

  #plan(ms: number): void {
    this.#soon = ms === SETTLE_MS;
    this.#cancel();
    this.#cancel = after(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    this.#soon = false;
    const paths = this.#options.files();
    const found = await Promise.all(paths.map(lookAt));
    if (this.#stopped) {
      return;
    }
    this.#watchFolders(new Set(found.flatMap(({ folders }) => folders)));
    const now = new Map(paths.map((path, index) => [path, found[index]?.mark]));
    const readAt = this.#options.readAt?.() ?? Number.POSITIVE_INFINITY;
    const isNewer = paths.some(
      (path, index) => !this.#known.has(path) && (found[index]?.changedAt ?? 0) > readAt + CLOCK_MS,
    );
    const isStill = !differs(this.#last, now) && !(isNewer && paths.some((path) => !this.#last.has(path)));
    this.#last = now;
    const isAnother = isNewer || differs(this.#known, now);
    if (isAnother && !isStill) {
      // It may be half written.
      this.#plan(SETTLE_MS);
      return;
    }
    if (isAnother) {
      this.#options.changed();
    }
    this.#known = now;
    if (!this.#soon) {
      this.#plan(POLL_MS);
    }
  }

  #watchFolders(wanted: ReadonlySet<string>): void {
    for (const [folder, watcher] of this.#folders) {
      if (!wanted.has(folder)) {
        watcher.close();
        this.#folders.delete(folder);
      }
    }
    for (const folder of wanted) {
      if (!this.#folders.has(folder)) {
        this.#watchFolder(folder);
      }
    }
  }

  #watchFolder(folder: string): void {
    const failed = (error: unknown) => {
      this.#options.log.debug(
        { err: error },
        'a folder cannot be watched: its files are looked at now and then',
      );
      this.#folders.delete(folder);
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.sign());
      this.#folders.set(folder, watcher);
      watcher.on('error', failed);
    } catch (thrown) {
      failed(thrown);
    }
  }
}

interface Looked {
  readonly mark: string;
  readonly folders: readonly string[];
  /** ms since the epoch, where there is a file. */
  readonly changedAt?: number;
}

/** What tells one state of a file from another, and the folders in which that would change. */
async function lookAt(path: string): Promise<Looked> {
  try {
    const real = await realpath(path);
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
    return {
      mark: [path, real, dev, ino, size, mtimeNs, ctimeNs].join(' '),
      folders: [dirname(path), dirname(real)],
      changedAt: Number(ctimeNs) / 1e6,
    };
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown';
    return { mark: `${path} ${code}`, folders: [dirname(path)] };
  }
}
