import { Document, type Pair, type Scalar, YAMLMap } from 'yaml';
import type { Gathered } from './gather.ts';

/** The configuration that was gathered, with what is to be known of each server above its entry. */
export function toYaml({ upstreams, sources, variables }: Gathered): string {
  const document = new Document(new YAMLMap());
  const servers = new YAMLMap();
  for (const { id, entry, remarks } of upstreams) {
    if (entry === undefined) {
      continue;
    }
    const pair = document.createPair(id, entry) as Pair<Scalar>;
    pair.key.commentBefore = asComment(remarks);
    pair.key.spaceBefore = servers.items.length > 0;
    servers.add(pair);
  }
  document.set('upstreams', servers);
  const left = upstreams.filter(({ entry }) => entry === undefined);
  document.commentBefore = asComment([
    `Imported from ${sources.map(({ file, label }) => `${file} (${label})`).join(', ')}.`,
    ...(variables.length === 0 ? [] : [`Variables to set: ${variables.join(', ')}.`]),
  ]);
  document.comment =
    left.flatMap(({ id, remarks }) => remarks.map((text) => asComment([`${id}: ${text}`]))).join('\n') ||
    null;
  return document.toString({ lineWidth: 0, singleQuote: null });
}

/** One line each, whatever a name of the file holds. */
function asComment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')}`).join('\n');
}
