import type { Item } from '../protocol/model.ts';
import { finding, quoted, type VettingFinding } from './finding.ts';

/** Longest name that the function calling of common model APIs takes. */
const LONGEST_NAME = 64;

/** The words of a name in lower case: `getUser`, `get_user`, `get-user` and `get.user` are the same two. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]/u)
    .filter((word) => word !== '');
}

/** What the names of at least three tools all begin with, as `github` does in `github_create_issue`; '' where there is none. */
export function prefixOf(tools: readonly Item[]): string {
  const wordAt = (tool: Item | undefined) => wordsOf(String(tool?.['name']))[0] ?? '';
  const first = wordAt(tools[0]);
  return tools.length >= 3 && tools.every((tool) => wordAt(tool) === first) ? first : '';
}

/** Spec 2026-07-28, server/tools, Tool Names. */
export function nameFindings(upstream: string, tools: readonly Item[]): readonly VettingFinding[] {
  return tools.flatMap((tool) => {
    const name = String(tool['name']);
    const about = { upstream, kind: 'tools', item: name, place: '/name' } as const;
    const odd = [...new Set(name.match(/[^A-Za-z0-9_.-]/gu) ?? [])].join('');
    return [
      ...(odd === '' ? [] : [finding('name.characters', about, `It holds ${quoted(odd)}.`)]),
      ...(name.length <= LONGEST_NAME
        ? []
        : [finding('name.long', about, `It has ${name.length} characters.`)]),
    ];
  });
}
