/** Durations and sizes of the configuration: texts with a unit, turned into milliseconds and bytes. */

export type Unit = 'duration' | 'size';

interface UnitFacts {
  /** What one of each is worth in the base unit: milliseconds or bytes. */
  readonly worth: Readonly<Record<string, number>>;
  /** Regular expression source, also published in the JSON Schema. */
  readonly pattern: string;
  /** How such a value is described to a person. */
  readonly says: string;
}

export const UNITS: Readonly<Record<Unit, UnitFacts>> = {
  duration: {
    worth: { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 },
    pattern: '^(\\d+(?:\\.\\d+)?)(ms|s|m|h|d)?$',
    says: 'must be a duration: a number with ms, s, m, h or d, such as 500ms or 10s (a bare number is ms)',
  },
  size: {
    // kB and KiB differ by 2.4 %: the unit says which one is meant, so KB, which could be either, is not taken.
    worth: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 },
    pattern: '^(\\d+(?:\\.\\d+)?)(B|kB|MB|GB|KiB|MiB|GiB)?$',
    says: 'must be a size: a number with B, kB, MB, GB, KiB, MiB or GiB, such as 512KiB (a bare number is bytes)',
  },
};

/**
 * The amount in milliseconds or bytes, or undefined where `value` is none. A text without a unit and a bare number
 * are already in the base unit. Fractions are fine as long as a whole number of the base unit comes out.
 */
export function parseAmount(unit: Unit, value: unknown): number | undefined {
  const { pattern, worth } = UNITS[unit];
  if (typeof value !== 'number' && typeof value !== 'string') {
    return undefined;
  }
  const [, digits, suffix] = new RegExp(pattern).exec(String(value)) ?? [];
  if (digits === undefined) {
    return undefined;
  }
  const factor = suffix === undefined ? 1 : worth[suffix];
  // Rounded to a millionth first: 1.1 * 1000 must be 1100, not 1100.0000000000001.
  const amount = Math.round(Number(digits) * (factor ?? Number.NaN) * 1e6) / 1e6;
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** An amount in the largest unit that divides it: 86400000 is `1d`. */
export function amountText(unit: Unit, amount: number): string {
  const [suffix, worth] = Object.entries(UNITS[unit].worth)
    .filter(([, each]) => amount % each === 0)
    .reduce((best, each) => (each[1] > best[1] ? each : best));
  return `${amount / worth}${suffix}`;
}
