import { describe, expect, it } from 'vitest';
import { diffLines, diffSettings, isSame, restarts, runnable } from '../../../src/config/diff.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { parse } from './kit.ts';

const settings = (text: string): Settings => parse(text).settings;

const BASE = 'upstreams: {a: {command: x}, b: {url: "http://h/mcp"}}';
const upstreams = (a: string) => settings(`upstreams: {a: {command: x${a}}}`).upstreams['a']!;

describe('the difference between two configurations', () => {
  it('is nothing for words that mean the same', () => {
    const diff = diffSettings(
      settings(BASE),
      settings(`# new\nx-note: 1\nlists: {maxTtl: 60000}\n${BASE}\n`),
    );
    expect(isSame(diff)).toBe(true);
    expect(diffLines(diff)).toEqual([]);
  });

  it('names upstreams by what becomes of them, and keys by their paths, never a value', () => {
    const next = `
name: other
listen: {port: 1}
limits: {perPrincipal: {burst: 3, requestsPerSecond: 1}}
access: [{who: {anyone: true}, allow: ["*"]}]
upstreams: {c: {command: y}, b: {url: "http://h/mcp", namespace: n}, a: {command: x, args: [secret-value]}}`;
    const diff = diffSettings(settings(`${BASE.replace('}}', '}, d: {command: z}}')}`), settings(next));
    expect(diff).toEqual({
      upstreams: { added: ['c'], removed: ['d'], restarted: ['a'], changed: ['b'] },
      changed: [
        'access',
        'limits.perPrincipal.requestsPerSecond',
        'limits.perPrincipal.burst',
        'upstreams (order)',
      ],
      needRestart: ['name', 'listen.port'],
    });
    expect(diffLines(diff).join('\n')).not.toContain('secret-value');
  });

  it.each([
    ['', ', namespace: other', false],
    ['', ', tools: {deny: [t]}', false],
    ['', ', trust: {annotations: true}', false],
    ['', ', cache: {ttl: 1s}', false],
    ['', ', optional: true', false],
    ['', ', instructions: false', false],
    ['', ', env: {A: b}', true],
    ['', ', timeouts: {call: 1s}', true],
    ['', ', limits: {concurrency: 1}', true],
    ['', ', isolation: user', true],
    [', retry: safe', ', trust: {annotations: true}', false],
  ])('an upstream with {%s} that becomes {%s} is started anew: %s', (before, after, expected) => {
    expect(restarts(upstreams(before), upstreams(after))).toBe(expected);
  });
});

describe('what a running gateway can take', () => {
  it('keeps what needs a restart, and the very objects that say the same', () => {
    const before = settings(`stateDir: /s\nauth: {mode: none}\n${BASE}`);
    const next = settings(`name: other\nlisten: {port: 9, publicUrl: "http://p"}\n${BASE}`);
    const result = runnable(before, next);
    expect(result).toMatchObject({ name: 'patchbay', stateDir: before.stateDir });
    expect(result.listen).toEqual({ ...before.listen, publicUrl: 'http://p' });
    expect(result.auth).toBe(before.auth);
    expect(result.upstreams['a']).toBe(before.upstreams['a']);
    expect(Object.keys(runnable(before, settings('upstreams: {b: {command: x}}')).upstreams)).toEqual(['b']);
  });

  it('refuses what would be open to everybody until the next start', () => {
    const before = settings('listen: {host: 0.0.0.0}\nauth: {mode: none, allowAnonymous: true}');
    const next = settings('listen: {host: 127.0.0.1}');
    expect(() => runnable(before, next)).toThrow(
      expect.objectContaining({ problems: [expect.objectContaining({ path: 'listen.host' })] }),
    );
  });
});
