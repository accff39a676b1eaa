import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../base/log.ts';
import type { Settings } from './settings.ts';

const KEY_BYTES = 32;
const FILE = 'sealing.key';

/**
 * The key that session ids and cursors are sealed with: the configured one, else one made once and kept in the state
 * folder (mode 0600), so that sessions outlive a restart. Where nothing can be written it is random, with a warning.
 */
export async function sealingKey(
  settings: Pick<Settings, 'sealingKey' | 'stateDir'>,
  log: Log,
): Promise<Buffer> {
  if (settings.sealingKey !== undefined) {
    return Buffer.from(settings.sealingKey, 'base64');
  }
  const folder = settings.stateDir ?? defaultStateDir();
  try {
    return await keptKey(folder);
  } catch (thrown) {
    log.warn(
      { err: thrown },
      'no sealing key can be kept in the state folder: sessions will not outlive this process',
    );
    return randomBytes(KEY_BYTES);
  }
}

/** The same key where there is one already; nothing is made or written. */
export async function existingKey(
  settings: Pick<Settings, 'sealingKey' | 'stateDir'>,
): Promise<Buffer | undefined> {
  if (settings.sealingKey !== undefined) {
    return Buffer.from(settings.sealingKey, 'base64');
  }
  try {
    return await readKey(join(settings.stateDir ?? defaultStateDir(), FILE));
  } catch {
    // Not there, or not for this user to read: then there is none, which is an answer.
    return undefined;
  }
}

/** `$XDG_STATE_HOME/patchbay`, by default below the home folder (XDG Base Directory Specification). */
function defaultStateDir(): string {
  const base = process.env['XDG_STATE_HOME'];
  return base ? join(base, 'patchbay') : join(homedir(), '.local', 'state', 'patchbay');
}

async function keptKey(folder: string): Promise<Buffer> {
  const path = join(folder, FILE);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await makeKey(path);
  return readKey(path);
}

/** Unless there is one. */
async function makeKey(path: string): Promise<void> {
  // 'wx' fails where the file exists: of two gateways that start at once, one writes and both read.
  const file = await open(path, 'wx', 0o600).catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') {
      return undefined;
    }
    throw thrown;
  });
  if (file === undefined) {
    return;
  }
  try {
    await file.writeFile(`${randomBytes(KEY_BYTES).toString('base64')}\n`);
  } catch (thrown) {
    // As where the disk is full: an empty file would be taken for a damaged key from then on.
    await rm(path, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}

async function readKey(path: string): Promise<Buffer> {
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (key.length !== KEY_BYTES) {
    throw new Error(
      `the kept sealing key is damaged: remove ${path}, and another one is made at the next start`,
    );
  }
  return key;
}
