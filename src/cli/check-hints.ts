import type { Catalog } from '../catalog/snapshot.ts';
import { HINTS, type Hints, hintsOf } from '../vetting/hints.ts';
import { table } from './text.ts';
import type { AnyFinding } from './vetted.ts';

/** What one tool says of itself, or the configuration in its place, and which findings say that it cannot be so. */
export interface CheckedHints extends Hints {
  readonly contradicted: readonly string[];
}

/** By upstream, then by the upstream's own name for the tool. */
export type HintTable = Readonly<Record<string, Readonly<Record<string, CheckedHints>>>>;

const CONTRADICTIONS: ReadonlySet<string> = new Set([
  'hint.contradiction',
  'hint.name-writes',
  'hint.name-reads',
]);

/** The hints of all tools, those that are withheld too. */
export function hintTable({ entries, withheld }: Catalog, findings: readonly AnyFinding[]): HintTable {
  const contradicted = findings.filter(({ id }) => CONTRADICTIONS.has(id));
  const rows = new Map<string, (readonly [string, CheckedHints])[]>();
  for (const { kind, upstream, original, item } of [...entries.tools, ...withheld.entries]) {
    if (kind === 'tools') {
      const about = contradicted.filter((each) => each.upstream === upstream && each.item === original);
      const row = [original, { ...hintsOf(item), contradicted: about.map(({ id }) => id) }] as const;
      rows.set(upstream, [...(rows.get(upstream) ?? []), row]);
    }
  }
  return Object.fromEntries([...rows].map(([upstream, tools]) => [upstream, Object.fromEntries(tools)]));
}

const WORDS = new Map<boolean | 'missing', string>([
  [true, 'yes'],
  [false, 'no'],
  ['missing', '-'],
]);

/** The same as a table: `-` is a hint that nobody states. */
export function hintLines(hints: HintTable): readonly string[] {
  const rows = Object.entries(hints).flatMap(([upstream, tools]) =>
    Object.entries(tools).map(([name, tool]) => [
      `${upstream}.${name}`,
      ...HINTS.map((hint) => WORDS.get(tool[hint]) ?? ''),
      tool.contradicted.join(', '),
    ]),
  );
  const head = ['tool', ...HINTS.map((hint) => hint.replace('Hint', '')), ''];
  return rows.length === 0 ? [] : ['Hints', ...table([head, ...rows], '  '), ''];
}
