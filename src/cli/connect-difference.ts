/** The lines that go and those that come; none of the others, which may hold secrets. */
export function difference(file: string, before: string, after: string): string {
  const [old, next] = [before, after].map((text) =>
    text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/),
  );
  const [gone = [], come = []] = [old, next];
  const hunks: string[] = [`--- ${file}`, `+++ ${file}`];
  for (const { at, removed, added } of changedRuns(gone, come)) {
    hunks.push(
      `@@ line ${at + 1} @@`,
      ...removed.map((line) => `-${line}`),
      ...added.map((line) => `+${line}`),
    );
  }
  return `${hunks.join('\n')}\n`;
}

interface Run {
  readonly at: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Entries are added in at most a few places: from both ends, and once more at the longest common run between. */
function changedRuns(old: readonly string[], next: readonly string[], at = 0): readonly Run[] {
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) {
    start += 1;
  }
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  ) {
    end += 1;
  }
  const removed = old.slice(start, old.length - end);
  const added = next.slice(start, next.length - end);
  if (removed.length === 0 || added.length === 0) {
    return removed.length + added.length === 0 ? [] : [{ at: at + start, removed, added }];
  }
  const common = removed.findIndex((line) => line.trim().length > 2 && added.includes(line));
  const partner = added.indexOf(removed[common] ?? '');
  return common < 0
    ? [{ at: at + start, removed, added }]
    : [
        ...changedRuns(removed.slice(0, common), added.slice(0, partner), at + start),
        ...changedRuns(removed.slice(common), added.slice(partner), at + start + common),
      ];
}
