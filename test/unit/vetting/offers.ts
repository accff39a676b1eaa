import type { Item } from '../../../src/protocol/model.ts';
import type { Offered, VettingFinding } from '../../../src/vetting/finding.ts';

/** A tool that nothing can be said against, but for what the test gives. */
export function tool(given: Item & { readonly name: string }): Item {
  return {
    description: `What ${given.name} does, in words of its own.`,
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    annotations: { readOnlyHint: true },
    ...given,
  };
}

export function server(upstream: string, tools: readonly Item[], more: Partial<Offered> = {}): Offered {
  return { upstream, lists: { tools }, ...more };
}

/** Each finding as `id item place`. */
export function told(findings: readonly VettingFinding[]): readonly string[] {
  return findings.map(({ id, item, place }) => [id, item, place].filter((part) => part !== '').join(' '));
}
