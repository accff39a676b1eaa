import { existsSync, readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Lock, type LockState, lockText, readLock } from '../vetting/lock.ts';

const LOCK_FILE = 'patchbay.lock.json';

/** Where the lock of a configuration is: beside it. */
export function lockPath(config: string): string {
  return join(dirname(resolve(config)), LOCK_FILE);
}

/** What the lock file of this configuration says now. */
export function lockOf(config: string): LockState {
  const path = lockPath(config);
  if (!existsSync(path)) {
    return undefined;
  }
  try {
    return readLock(readFileSync(path, 'utf8'));
  } catch (thrown) {
    return {
      fault:
        thrown instanceof Error && 'code' in thrown
          ? `it cannot be read (${thrown.code})`
          : 'it cannot be read',
    };
  }
}

/** Whole or not at all: a running gateway may read it at any moment. Rejects with what the system has against it. */
export async function writeLock(config: string, lock: Lock): Promise<void> {
  const path = lockPath(config);
  const beside = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(beside, lockText(lock));
    await rename(beside, path);
  } catch (thrown) {
    if (existsSync(beside)) {
      await rm(beside, { force: true });
    }
    throw thrown;
  }
}
