import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import sonicBoom, { type SonicBoom as Sonic } from 'sonic-boom';
import type { Log } from '../base/log.ts';
import { after } from '../base/time.ts';

export interface AuditFileOptions {
  /** Absolute path, or `-` for stdout. */
  readonly file: string;
  /** Most bytes that wait to be written. */
  readonly bufferBytes: number;
  readonly rotateBytes: () => number;
  readonly keep: () => number;
  /** Another file is written into from here on: what stood in the last one has to be said again. */
  readonly begins: () => void;
  readonly log: Log;
}

/** How many lines had which fate. */
export interface AuditCounts {
  readonly written: number;
  readonly dropped: number;
  readonly failed: number;
}

// Node finds no names in what this package exports.
const { SonicBoom } = sonicBoom;

/** At most one line of the log in this time about what is lost, in ms. */
const LOG_EVERY_MS = 60_000;
const NEWLINE = 10;
/** The end of a line that a crash has cut is looked for in steps of so many bytes. */
const STEP = 65_536;
/** For the last lines, in ms. */
const LAST_LINES_MS = 2_000;

/**
 * A file of whole lines that is only ever appended to, in writes that end at the end of a line, by nobody who waits for
 * the disk. What cannot be written waits, as far as there is room; the rest is dropped and counted.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  readonly #out: Sonic;
  #size = 0;
  #rotating = false;
  #failing = false;
  #lines = 0;
  #dropped = 0;
  #failed = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;

  /** Throws where the file cannot be opened for writing. */
  constructor(options: AuditFileOptions) {
    const { file, bufferBytes: maxLength, log } = options;
    this.#options = options;
    if (file === '-') {
      this.#out = new SonicBoom({ fd: 1, sync: false, maxLength });
    } else {
      this.#size = mend(file, log);
      this.#out = new SonicBoom({ dest: file, sync: false, append: true, mode: 0o600, maxLength });
    }
    this.#out.on('drop', () => this.#lost());
    this.#out.on('error', (thrown: unknown) => this.#fault(thrown));
    this.#out.on('write', (bytes: number) => this.#wrote(bytes));
  }

  /** Whether the last attempt to write has failed, or the last line found no room. */
  get failing(): boolean {
    return this.#failing;
  }

  get counts(): AuditCounts {
    return { written: this.#lines - this.#dropped, dropped: this.#dropped, failed: this.#failed };
  }

  /** One line, without its end. Never waits and never throws. */
  write(line: string): void {
    this.#lines += 1;
    if (this.#closing === undefined) {
      this.#out.write(`${line}\n`);
    } else {
      this.#dropped += 1;
    }
  }

  /** Somebody has moved the file away: another one of that name is begun. */
  reopen(): void {
    if (this.#options.file !== '-') {
      this.#begin();
    }
  }

  /** Resolves when all is written, or after a short time where it cannot be. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      const stop = after(LAST_LINES_MS, resolve);
      const done = () => {
        stop();
        resolve();
      };
      // What cannot be written now is not tried again: nobody is left to mend it.
      this.#out.once('close', done).once('error', done);
      this.#out.end();
    });
    return this.#closing;
  }

  #begin(): void {
    this.#size = 0;
    this.#out.reopen();
    this.#options.begins();
  }

  #wrote(bytes: number): void {
    this.#size += bytes;
    if (this.#failing) {
      this.#failing = false;
      this.#options.log.info('the audit log is written again');
    }
    const { file, rotateBytes } = this.#options;
    if (file !== '-' && this.#size > rotateBytes() && !this.#rotating) {
      this.#rotating = true;
      void this.#rotate(file);
    }
  }

  async #rotate(file: string): Promise<void> {
    const keep = this.#options.keep();
    try {
      for (let at = keep; at > 0; at -= 1) {
        await moveIfThere(at === 1 ? file : `${file}.${at - 1}`, `${file}.${at}`);
      }
      if (keep === 0) {
        await rm(file, { force: true });
      }
      this.#begin();
    } catch (thrown) {
      // The size is counted anew, so that this is not tried again with the next line.
      this.#size = 0;
      this.#options.log.error({ err: thrown }, 'the audit log could not be rotated');
    }
    this.#rotating = false;
  }

  #lost(): void {
    this.#dropped += 1;
    this.#failing = true;
    const now = Date.now();
    if (now - this.#loggedAt >= LOG_EVERY_MS) {
      this.#loggedAt = now;
      this.#options.log.error({ dropped: this.#dropped }, 'lines of the audit log are lost: too many wait');
    }
  }

  #fault(thrown: unknown): void {
    this.#failed += 1;
    if (!this.#failing) {
      this.#failing = true;
      this.#options.log.error({ err: thrown }, 'the audit log cannot be written');
    }
  }
}

async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) {
      throw thrown;
    }
  }
}

/**
 * A line that a crash has cut short is taken out: whoever reads the file can rely on whole ones. Returns the size of
 * what is left.
 */
function mend(file: string, log: Log): number {
  mkdirSync(dirname(file), { recursive: true });
  const fd = openSync(file, 'a+', 0o600);
  try {
    const { size } = fstatSync(fd);
    const whole = endOfLastLine(fd, size);
    if (whole < size) {
      ftruncateSync(fd, whole);
      log.warn({ bytes: size - whole }, 'the audit log ended within a line, which was taken out');
    }
    return whole;
  } finally {
    closeSync(fd);
  }
}

function endOfLastLine(fd: number, size: number): number {
  const step = Buffer.alloc(STEP);
  for (let end = size; end > 0; end -= STEP) {
    const from = Math.max(0, end - STEP);
    const read = readSync(fd, step, 0, end - from, from);
    const at = step.subarray(0, read).lastIndexOf(NEWLINE);
    if (at >= 0) {
      return from + at + 1;
    }
  }
  return 0;
}
