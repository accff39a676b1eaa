import type { Entries, Entry } from './entry.ts';
import { identityOf } from './naming.ts';

/** What names lead to. */
export interface Names {
  /** By dotted or strict name, whatever the view: no name stands for two tools. Bare names are not routed here. */
  tool(name: string): Entry | undefined;
  prompt(name: string): Entry | undefined;
  /** By the upstream's own name, whatever it is exposed as. */
  toolOf(upstream: string, original: string): Entry | undefined;
  promptOf(upstream: string, original: string): Entry | undefined;
  /** By what it is called where that upstream is served alone: its own name, or the one it was given. */
  bareTool(upstream: string, bare: string): Entry | undefined;
}

export function namesOf(entries: Pick<Entries, 'tools' | 'prompts'>): Names {
  const tools = lookupOf(entries.tools);
  const prompts = lookupOf(entries.prompts);
  return {
    tool: tools.byName,
    prompt: prompts.byName,
    toolOf: tools.ofUpstream,
    promptOf: prompts.ofUpstream,
    bareTool: tools.byBareName,
  };
}

function lookupOf(entries: readonly Entry[]) {
  const names = new Map(entries.map((entry) => [entry.exposed.strict, entry]));
  for (const entry of entries) {
    names.set(entry.exposed.dotted, entry);
  }
  const originals = new Map(entries.map((entry) => [identityOf(entry.upstream, entry.original), entry]));
  const bare = new Map(entries.map((entry) => [identityOf(entry.upstream, entry.exposed.bare), entry]));
  return {
    byName: (name: string) => names.get(name),
    ofUpstream: (upstream: string, original: string) => originals.get(identityOf(upstream, original)),
    byBareName: (upstream: string, name: string) => bare.get(identityOf(upstream, name)),
  };
}
