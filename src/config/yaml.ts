import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Place } from './problems.ts';

/** One key of a mapping, its own or merged. */
export interface Entry {
  readonly key: Node;
  readonly value: Node;
}

/** A fault at a place; `key` names the key it is about. */
interface Fault extends Place {
  readonly message: string;
  readonly key?: string;
}

interface Entries {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly faults: readonly Fault[];
}

/** A parsed file: nodes with places, aliases and merge keys resolved on demand. */
export interface YamlFile {
  readonly root: Node;
  /** What is wrong with the syntax; then the nodes are not to be trusted. */
  readonly faults: readonly Fault[];
  place(node: Node): Place;
  /** The node itself, or what the alias stands for; undefined for an alias without an anchor before it. */
  follow(node: Node): Node | undefined;
  /** The keys of a mapping in order, those that come in by `<<` last. */
  entriesOf(map: YAMLMap): Entries;
}

/** The parser's own texts quote the file, and with it secrets; these say as much without. */
const SYNTAX: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: 'not a valid anchor or alias',
  BAD_DQ_ESCAPE: 'not an escape that double quotes know; use single quotes',
  BAD_INDENT: 'wrong indentation, or a bracket that is not closed',
  BAD_SCALAR_START: 'a value cannot begin with this sign; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on this line; put the value in quotes',
  MISSING_CHAR: 'something is missing here: a colon, comma, quote, bracket or space',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line and be followed by ": "',
  MULTIPLE_DOCS: 'only one document is read; remove the "---"',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'a tab cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'an unknown tag, or one that does not fit its value',
  UNEXPECTED_TOKEN: 'unexpected text; is it left over, or in need of quotes?',
};

/** Parses YAML 1.2 (core schema: `no` and `on` are texts), and so JSON too. Never throws. */
export function parseYaml(text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text.replace(/^\uFEFF/, ''), {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    // Repeated keys are found in `entriesOf`, which can name them; `<<` may well stand twice.
    uniqueKeys: false,
    resolveKnownTags: false,
    // Also under a `%YAML 1.1` line: what `no` means must not hang on it.
    schema: 'core',
  });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const place = (node: Node) => placeAt(node.range?.[0] ?? 0);
  const targets = targetsOf(document);
  const follow = (node: Node) => (isAlias(node) ? targets.get(node) : node);
  return {
    root: document.contents ?? new Scalar(null),
    faults: [...document.errors, ...document.warnings].map(({ code, pos }) => ({
      ...placeAt(pos[0]),
      message: SYNTAX[code] ?? 'not valid YAML',
    })),
    place,
    follow,
    entriesOf(map) {
      const faults: Fault[] = [];
      const fault = (node: Node, message: string, key?: string) =>
        faults.push({ ...place(node), message, ...(key === undefined ? {} : { key }) });
      const entries = collect(map, { follow, fault, seen: new Set() });
      return { entries, faults };
    },
  };
}

/** What each alias stands for: the node with that anchor that comes last before it. One pass, however many there are. */
function targetsOf(document: Document): ReadonlyMap<Node, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Node, Node>();
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) {
          targets.set(node, target);
        }
      } else if (node.anchor !== undefined) {
        anchors.set(node.anchor, node);
      }
    },
  });
  return targets;
}

interface Collecting {
  readonly follow: YamlFile['follow'];
  readonly fault: (node: Node, message: string, key?: string) => void;
  /** Mappings that are already in: a second time adds nothing, and a mapping may be merged into itself. */
  readonly seen: Set<Node>;
}

function collect(map: YAMLMap, context: Collecting): Map<string, Entry> {
  context.seen.add(map);
  const entries = new Map<string, Entry>();
  const merged: Node[] = [];
  for (const { key: keyNode, value: given } of map.items as readonly { key: Node; value: Node | null }[]) {
    const value = given ?? nothingAfter(keyNode);
    const key = isScalar(keyNode) && typeof keyNode.value === 'string' ? keyNode.value : undefined;
    if (key === undefined) {
      context.fault(keyNode, 'a key must be plain text');
    } else if (key === '<<' && isScalar(keyNode) && keyNode.type === 'PLAIN') {
      merged.push(...sourcesOf(value, context));
    } else if (entries.has(key)) {
      context.fault(keyNode, 'this key stands here twice', key);
    } else {
      entries.set(key, { key: keyNode, value });
    }
  }
  for (const source of merged) {
    const target = context.follow(source);
    if (target === undefined) {
      context.fault(source, 'there is no such anchor before this place');
    } else if (!isMap(target)) {
      context.fault(source, '"<<" takes a mapping or a list of mappings');
    } else if (!context.seen.has(target)) {
      for (const [key, entry] of collect(target, context)) {
        // What stands in the mapping itself, and what was merged before, wins.
        if (!entries.has(key)) {
          entries.set(key, entry);
        }
      }
    }
  }
  return entries;
}

function sourcesOf(value: Node, { follow }: Collecting): readonly Node[] {
  const target = follow(value);
  return isSeq(target) ? (target.items as readonly Node[]) : [value];
}

/** What a key without a value has: null, at the place of the key. */
function nothingAfter(key: Node): Node {
  const nothing = new Scalar(null);
  nothing.range = key.range ?? null;
  return nothing;
}
