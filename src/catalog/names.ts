import type { Entries, Entry } from './entry.ts';

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
  const names = once(() => {
    const known = new Map(entries.map((entry) => [entry.exposed.strict, entry]));
    for (const entry of entries) {
      known.set(entry.exposed.dotted, entry);
    }
    return known;
  });
  const originals = once(() => byUpstream(entries, ({ original }) => original));
  const bare = once(() => byUpstream(entries, ({ exposed }) => exposed.bare));
  return {
    byName: (name: string) => names().get(name),
    ofUpstream: (upstream: string, original: string) => originals().get(upstream)?.get(original),
    byBareName: (upstream: string, name: string) => bare().get(upstream)?.get(name),
  };
}

/** Made when it is first asked for: clients hear of a new catalog before they ask. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function byUpstream(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string,
): ReadonlyMap<string, ReadonlyMap<string, Entry>> {
  const known = new Map<string, Map<string, Entry>>();
  for (const entry of entries) {
    const names = known.get(entry.upstream) ?? new Map<string, Entry>();
    known.set(entry.upstream, names.set(nameOf(entry), entry));
  }
  return known;
}
