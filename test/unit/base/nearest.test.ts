import { expect, it } from 'vitest';
import { nearest } from '../../../src/base/nearest.ts';

const KEYS = ['command', 'args', 'env', 'enabled', 'timeouts', 'call', 'cwd', 'url'];

it.each([
  ['commandd', 'command'],
  ['comand', 'command'],
  ['commnad', 'command'],
  ['Timeouts', 'timeouts'],
  ['timeoutt', 'timeouts'],
  ['enabledd', 'enabled'],
  ['callms', 'call'],
  ['arg', 'args'],
  ['envs', 'env'],
  ['ulr', 'url'],
])('%s was meant to be %s', (word, meant) => {
  expect(nearest(word, KEYS)).toBe(meant);
});

it.each(['servers', 'x', 'wd', 'retries', 'e'.repeat(100_000)])('%.20s is near nothing', (word) => {
  expect(
    nearest(
      word,
      KEYS.filter((key) => key !== 'cwd'),
    ),
  ).toBeUndefined();
});

it('takes the first of two that are equally close', () => {
  expect(nearest('bat', ['cat', 'rat'])).toBe('cat');
});

it('knows nothing where there are no candidates', () => {
  expect(nearest('word', [])).toBeUndefined();
});
