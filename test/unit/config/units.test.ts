import { describe, expect, it } from 'vitest';
import { amountText, parseAmount } from '../../../src/config/units.ts';

describe('durations', () => {
  it.each([
    ['50ms', 50],
    ['10s', 10_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['1.5s', 1500],
    ['1.1s', 1100],
    ['2500', 2500],
    [2500, 2500],
    [0, 0],
  ])('%j is %d ms', (value, ms) => {
    expect(parseAmount('duration', value)).toBe(ms);
  });

  it.each([
    '10 s',
    '10sec',
    '10S',
    '-1s',
    '1e3',
    's',
    '',
    ' 1s',
    '1s\n',
    '0.5ms',
    '1m30s',
    '9999999999999d',
    -1,
    1.5,
    1e21,
    Number.NaN,
    true,
    null,
    undefined,
    ['1s'],
  ])('%j is none', (value) => {
    expect(parseAmount('duration', value)).toBeUndefined();
  });
});

describe('sizes', () => {
  it.each([
    ['16MiB', 16 * 1024 * 1024],
    ['8MB', 8_000_000],
    ['512KiB', 524_288],
    ['64kB', 64_000],
    ['100B', 100],
    ['1GiB', 1_073_741_824],
    ['1GB', 1e9],
    ['1.5KiB', 1536],
    [4096, 4096],
  ])('%j is %d bytes', (value, bytes) => {
    expect(parseAmount('size', value)).toBe(bytes);
  });

  it.each(['1KB', '1kib', '1k', '1s', '0.5B', '1 MiB'])('%j is none', (value) => {
    expect(parseAmount('size', value)).toBeUndefined();
  });
});

it.each([
  ['duration', 86_400_000, '1d'],
  ['duration', 1500, '1500ms'],
  ['duration', 90_000, '90s'],
  ['size', 1, '1B'],
  ['size', 1024, '1KiB'],
  ['size', 8_000_000, '8MB'],
] as const)('writes a %s of %d as %s', (unit, amount, text) => {
  expect(amountText(unit, amount)).toBe(text);
  expect(parseAmount(unit, text)).toBe(amount);
});
