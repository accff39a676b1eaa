import { isMap, isSeq } from 'yaml';
import type { Settings } from './settings.ts';
import type { YamlFile } from './yaml.ts';

/** Where the rules stand in the file that they were read from. Beside the settings: two files that say the same are equal. */
const lines = new WeakMap<Settings['access'][number], number>();

/** Line of a rule in its file, from 1; undefined where it was not read from one. */
export function lineOf(rule: Settings['access'][number] | undefined): number | undefined {
  return rule && lines.get(rule);
}

/** Notes where the rules of these settings stand in the file that they were read from. */
export function noteLines({ access }: Pick<Settings, 'access'>, yaml: YamlFile): void {
  const root = yaml.follow(yaml.root);
  const value = isMap(root) ? yaml.entriesOf(root).entries.get('access')?.value : undefined;
  const list = value && yaml.follow(value);
  const nodes = isSeq(list) ? list.items : [];
  for (const [at, rule] of access.entries()) {
    const node = nodes[at] as Parameters<YamlFile['place']>[0] | undefined;
    if (node !== undefined) {
      lines.set(rule, yaml.place(node).line);
    }
  }
}

/** Rules that say the same as `next` stand where those do now. */
export function keepLines(rules: Settings['access'], next: Settings['access']): void {
  for (const [at, rule] of rules.entries()) {
    const line = lineOf(next[at]);
    if (line !== undefined) {
      lines.set(rule, line);
    }
  }
}
