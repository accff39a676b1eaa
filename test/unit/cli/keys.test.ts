import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '../../../src/config/load.ts';
import { run } from './run.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** The settings that a line of the output leads to, put under `auth.keys`. */
function settingsWith(line: string) {
  const text = `auth:\n  mode: keys\n  keys:\n${line}\nupstreams: {}\n`;
  const { settings } = parseSettings(text, {
    file: 'gateway.yaml',
    env: {},
    readFile: () => '',
    overrides: {},
  });
  return settings.auth.keys;
}

describe('patchbay keys new', () => {
  it.each(['ann', 'ann b', 'a"b\\c', 'x: y # z', `\${env:HOME}`, '日本', 'a","b'])(
    'prints a key once and a line that the configuration takes as it is, for the id %j',
    async (id) => {
      const args = ['keys', 'new', id, '--groups', 'admins, eng', '--scopes', 'x'];
      const { code, stdout, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const [key = '', ...more] = stdout.match(/pbk_[\w-]{43}/g) ?? [];
      expect(more).toEqual([]);
      const line = stdout.split('\n').find((each) => each.startsWith('  - ')) ?? '';
      expect(settingsWith(line)).toEqual([
        { id, sha256: sha256(key), groups: ['admins', 'eng'], scopes: ['x'] },
      ]);
    },
  );

  it('prints both as JSON', async () => {
    const { stdout } = await run(['keys', 'new', 'ann', '--json']);
    const { key, entry } = parse(stdout);
    expect(key).toMatch(/^pbk_[\w-]{43}$/);
    expect(entry).toEqual({ id: 'ann', sha256: sha256(key) });
  });

  it('makes another key each time', async () => {
    const [one, two] = await Promise.all([run(['keys', 'new', 'a']), run(['keys', 'new', 'a'])]);
    expect(one.stdout).not.toBe(two.stdout);
  });
});
