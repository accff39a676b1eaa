import { readFileSync } from 'node:fs';
import { isObject } from './json.ts';

/** Version of this package, as its package.json says; the file lies one folder above both `src` and `dist`. */
export function release(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const manifest: unknown = JSON.parse(text);
  return isObject(manifest) && typeof manifest['version'] === 'string' ? manifest['version'] : '0.0.0';
}
