import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Files that are, or would become, part of the repository, relative to its root. */
export function repositoryFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed.split('\0').filter((file) => file !== '' && existsSync(`${ROOT}${file}`));
}

export function textOf(file: string): string {
  return readFileSync(`${ROOT}${file}`, 'utf8');
}
