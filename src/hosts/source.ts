import {
  createScanner,
  type ParseError,
  parseTree,
  printParseErrorCode,
  type Node as TreeNode,
} from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';
import { isAlias, isMap, isScalar, isSeq, type Node as YamlNode } from 'yaml';
import type { Place, Problem } from '../config/problems.ts';
import { parseYaml, type YamlFile } from '../config/yaml.ts';

/** A parsed file of whichever syntax: plain data with places, where a key may stand twice and `__proto__` is a key. */
export type Source = SourceMap | SourceList | SourceScalar;
export interface SourceMap {
  readonly kind: 'map';
  readonly place: Place;
  readonly entries: readonly SourceEntry[];
}
interface SourceList {
  readonly kind: 'list';
  readonly place: Place;
  readonly items: readonly Source[];
}
interface SourceScalar {
  readonly kind: 'scalar';
  readonly place: Place;
  readonly value: unknown;
}
export interface SourceEntry {
  readonly key: string;
  /** Of the key. */
  readonly place: Place;
  readonly value: Source;
}

export type Syntax = 'json' | 'yaml' | 'toml';

/** A file of a host nests a few levels; parsers that recurse end with the stack of the process. */
const DEEPEST = 64;
/** Aliases can make a small file stand for an endless one. */
const MOST_NODES = 100_000;

/** Which syntax a file is in, by its name, else by how it begins. */
export function syntaxOf(name: string, text: string): Syntax {
  const [, extension = ''] = /\.(ya?ml|toml|jsonc?)$/i.exec(name) ?? [];
  if (extension !== '') {
    return /^y/i.test(extension) ? 'yaml' : /^t/i.test(extension) ? 'toml' : 'json';
  }
  return /^\uFEFF?\s*(?:[{[]|\/[/*])/.test(text) ? 'json' : 'yaml';
}

/** Parses a file. Never throws: what is wrong with it is told with its place, and without a word of the file. */
export function parseSource(text: string, syntax: Syntax): Source | readonly Problem[] {
  const clean = text.replace(/^\uFEFF/, '');
  return syntax === 'json' ? fromJson(clean) : syntax === 'yaml' ? fromYaml(clean) : fromToml(clean);
}

const fault = (place: Place, message: string): Problem => ({ ...place, path: '', message });
const TOO_DEEP = 'nested too deeply';

/** Lines and columns of offsets; the text is cut into lines once. */
function placesOf(text: string): (offset: number) => Place {
  const starts = [0, ...[...text.matchAll(/\r\n?|\n/g)].map(({ index, 0: end }) => index + end.length)];
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

const JSON_FAULTS: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'a name in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a ":" is missing',
  CommaExpected: 'a "," is missing',
  CloseBraceExpected: 'a "}" is missing',
  CloseBracketExpected: 'a "]" is missing',
  EndOfFileExpected: 'text after the end of the file; is a bracket closed too early?',
  UnexpectedEndOfString: 'a string is not closed',
  UnexpectedEndOfComment: 'a comment is not closed',
  InvalidEscapeCharacter: 'an escape that JSON does not know; a backslash is written "\\\\"',
  InvalidCharacter: 'a control character in a string',
};

/** JSON as editors read it: comments and trailing commas are fine. The tree, or what is wrong. */
export function parseJson(text: string): TreeNode | readonly Problem[] {
  const placeAt = placesOf(text);
  const deep = tooDeepAt(text);
  if (deep !== undefined) {
    return [fault(placeAt(deep), TOO_DEEP)];
  }
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, disallowComments: false });
  const [first] = errors;
  // One mistake makes the parser stumble several times; only the first says something.
  if (first !== undefined) {
    const message = JSON_FAULTS[printParseErrorCode(first.error)] ?? 'not valid JSON';
    return [fault(placeAt(first.offset), message)];
  }
  return root ?? [fault({ line: 1, column: 1 }, 'the file is empty')];
}

function tooDeepAt(text: string): number | undefined {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token = Number(scanner.scan()); token !== TOKEN.end; token = Number(scanner.scan())) {
    depth += token === TOKEN.brace || token === TOKEN.bracket ? 1 : 0;
    depth -= token === TOKEN.closingBrace || token === TOKEN.closingBracket ? 1 : 0;
    if (depth > DEEPEST) {
      return scanner.getTokenOffset();
    }
  }
  return undefined;
}

/** `SyntaxKind` of the library, whose const enum does not outlive its own compilation. */
const TOKEN = { brace: 1, closingBrace: 2, bracket: 3, closingBracket: 4, end: 17 } as const;

function fromJson(text: string): Source | readonly Problem[] {
  const root = parseJson(text);
  const placeAt = placesOf(text);
  const convert = (node: TreeNode): Source => {
    const place = placeAt(node.offset);
    if (node.type === 'object') {
      const entries = (node.children ?? []).flatMap(({ children = [] }) => {
        const [key, value] = children;
        return key === undefined || value === undefined
          ? []
          : [{ key: String(key.value), place: placeAt(key.offset), value: convert(value) }];
      });
      return { kind: 'map', place, entries };
    }
    return node.type === 'array'
      ? { kind: 'list', place, items: (node.children ?? []).map(convert) }
      : { kind: 'scalar', place, value: node.value };
  };
  return 'type' in root ? convert(root) : root;
}

function fromYaml(text: string): Source | readonly Problem[] {
  const yaml = parseYaml(text);
  const [first] = yaml.faults;
  if (first !== undefined) {
    return [fault(first, first.message)];
  }
  const problems: Problem[] = [];
  const source = new YamlWalk(yaml, problems).convert(yaml.root, 0);
  return problems.length > 0 ? problems.slice(0, 1) : source;
}

class YamlWalk {
  readonly #yaml: YamlFile;
  readonly #problems: Problem[];
  #nodes = 0;

  constructor(yaml: YamlFile, problems: Problem[]) {
    this.#yaml = yaml;
    this.#problems = problems;
  }

  convert(node: YamlNode, depth: number): Source {
    const place = this.#yaml.place(node);
    const target = isAlias(node) ? this.#yaml.follow(node) : node;
    this.#nodes += 1;
    if (depth > DEEPEST || this.#nodes > MOST_NODES) {
      this.#problems.push(fault(place, depth > DEEPEST ? TOO_DEEP : 'stands for too much'));
      return { kind: 'scalar', place, value: null };
    }
    if (isMap(target)) {
      const { entries, faults } = this.#yaml.entriesOf(target);
      this.#problems.push(...faults.map(({ message, ...at }) => fault(at, message)));
      const converted = [...entries].map(([key, entry]) => ({
        key,
        place: this.#yaml.place(entry.key),
        value: this.convert(entry.value, depth + 1),
      }));
      return { kind: 'map', place, entries: converted };
    }
    if (isSeq(target)) {
      return {
        kind: 'list',
        place,
        items: (target.items as YamlNode[]).map((item) => this.convert(item, depth + 1)),
      };
    }
    return { kind: 'scalar', place, value: isScalar(target) ? target.value : null };
  }
}

function fromToml(text: string): Source | readonly Problem[] {
  const nowhere = { line: 0, column: 0 };
  const convert = (value: unknown): Source => {
    if (Array.isArray(value)) {
      return { kind: 'list', place: nowhere, items: value.map(convert) };
    }
    if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
      const entries = Object.entries(value).map(([key, each]) => ({
        key,
        place: nowhere,
        value: convert(each),
      }));
      return { kind: 'map', place: nowhere, entries };
    }
    return { kind: 'scalar', place: nowhere, value };
  };
  const parsed = readToml(text);
  return 'fault' in parsed ? [parsed.fault] : convert(parsed.value);
}

/** TOML as plain data, or the place where it stops being any. */
export function readToml(text: string): { readonly value: unknown } | { readonly fault: Problem } {
  try {
    const value = parseToml(text.replace(/^\uFEFF/, ''), { maxDepth: DEEPEST });
    return isTooDeep(value, DEEPEST) ? { fault: fault({ line: 1, column: 1 }, TOO_DEEP) } : { value };
  } catch (thrown) {
    // Its own message quotes the file.
    const place =
      thrown instanceof TomlError ? { line: thrown.line, column: thrown.column } : { line: 1, column: 1 };
    return { fault: fault(place, 'not valid TOML') };
  }
}

/** The parser counts brackets, and not the dots in the names of tables. */
function isTooDeep(value: unknown, left: number): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (left === 0 || Object.values(value).some((each) => isTooDeep(each, left - 1)))
  );
}

/** The entry under a key; of two, the last, as JSON readers take it. */
export function entryOf(source: Source | undefined, key: string): SourceEntry | undefined {
  return source?.kind === 'map' ? source.entries.findLast((entry) => entry.key === key) : undefined;
}

export function mapAt(source: Source | undefined, key: string): SourceMap | undefined {
  const value = entryOf(source, key)?.value;
  return value?.kind === 'map' ? value : undefined;
}

export function textAt(source: Source | undefined, key: string): string | undefined {
  const value = entryOf(source, key)?.value;
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;
}

export function itemsAt(source: Source | undefined, key: string): readonly Source[] {
  const value = entryOf(source, key)?.value;
  return value?.kind === 'list' ? value.items : [];
}
