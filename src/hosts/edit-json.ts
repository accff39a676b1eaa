import { createScanner, getNodeValue, type Node } from 'jsonc-parser';
import type { JsonObject } from '../base/json.ts';
import type { Problem } from '../config/problems.ts';
import { parseJson } from './source.ts';

/** A file that is not edited, and why. */
export class EditRefused extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ message }) => message).join('; '));
    this.name = 'EditRefused';
    this.problems = problems;
  }
}

type Keys = readonly string[];

/**
 * The value at a path of a JSON text with comments, undefined where there is none. Throws an EditRefused, as all here,
 * where the text is no JSON, or a key on the way stands twice or holds no mapping.
 */
export function jsonAt(text: string, path: Keys): unknown {
  const node = nodeAt(rootOf(text), path);
  return node === undefined ? undefined : (getNodeValue(node) as unknown);
}

/**
 * The text with these members in the mapping at a path, which is made where it is missing. Of the members that are there
 * only those in `replaced` go. All else, comments, order, indentation and line ends, stays as it is. The library could
 * insert too, but formats the neighbours and moves comments.
 */
export function setMembers(
  text: string,
  path: Keys,
  members: JsonObject,
  replaced: ReadonlySet<string>,
): string {
  const start = text.trim() === '' ? `{}${eolOf(text)}` : text;
  const there = nodeAt(rootOf(start), path);
  if (there?.type !== 'object') {
    return setValue(start, path, members);
  }
  const old = Object.keys(getNodeValue(there) as JsonObject).filter(
    (key) => replaced.has(key) && !Object.hasOwn(members, key),
  );
  const without = old.reduce((now, key) => removeMember(now, [...path, key]), start);
  return Object.entries(members).reduce((now, [key, value]) => setValue(now, [...path, key], value), without);
}

/** The text with the value at a path, which is made where it is missing. */
export function setValue(text: string, path: Keys, value: unknown): string {
  const root = rootOf(text);
  const there = nodeAt(root, path);
  if (there !== undefined) {
    if (JSON.stringify(getNodeValue(there)) === JSON.stringify(value)) {
      return text;
    }
    const written = asJson(text, value, indentAt(text, there.offset));
    return text.slice(0, there.offset) + written + text.slice(there.offset + there.length);
  }
  const depth = path.findIndex((_, at) => nodeAt(root, path.slice(0, at + 1)) === undefined);
  const holder = nodeAt(root, path.slice(0, depth));
  const [key = '', ...deeper] = path.slice(depth);
  const whole = deeper.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return holder === undefined ? text : insert(text, holder, `${JSON.stringify(key)}: `, whole);
}

/** The text with one more item in the list at a path, unless `same` says that one there is it. */
export function addItem(text: string, path: Keys, item: unknown, same: (there: unknown) => boolean): string {
  const list = nodeAt(rootOf(text), path);
  if (list?.type !== 'array') {
    return setValue(text, path, [item]);
  }
  return (getNodeValue(list) as unknown[]).some(same) ? text : insert(text, list, '', item);
}

/** The text without the member at a path, its comma and a comment behind it. */
export function removeMember(text: string, path: Keys): string {
  const property = nodeAt(rootOf(text), path)?.parent;
  const siblings = property?.parent?.children ?? [];
  const at = property === undefined ? -1 : siblings.indexOf(property);
  if (property === undefined || at < 0) {
    return text;
  }
  const end = property.offset + property.length;
  const comma = commaAfter(text, end);
  const before = siblings[at - 1];
  const until = afterComment(text, comma === undefined ? end : comma + 1);
  const lineStart = text.slice(0, property.offset).search(/\r?\n[ \t]*$/);
  const rest = text.slice(until);
  const start = lineStart < 0 || !/^[ \t]*(?:\r?\n|[}\]])/.test(rest) ? property.offset : lineStart;
  const head = text.slice(0, start);
  if (comma !== undefined || before === undefined) {
    return head + rest;
  }
  const dangling = commaAfter(text, before.offset + before.length) ?? start;
  return head.slice(0, dangling) + head.slice(dangling + 1) + rest;
}

function rootOf(text: string): Node {
  const root = parseJson(text);
  if (!('type' in root)) {
    throw new EditRefused(root);
  }
  return root;
}

/** Of the keys of a mapping each may stand once, on the way to what is edited: readers differ in which they take. */
function nodeAt(root: Node, path: Keys): Node | undefined {
  let node: Node | undefined = root;
  for (const [at, key] of path.entries()) {
    if (node.type !== 'object') {
      throw refused(path.slice(0, at), 'holds no mapping');
    }
    const found: readonly Node[] = (node.children ?? []).filter(
      ({ children }) => children?.[0]?.value === key,
    );
    if (found.length > 1) {
      throw refused(path.slice(0, at + 1), 'stands there twice');
    }
    node = found[0]?.children?.[1];
    if (node === undefined) {
      return undefined;
    }
  }
  return node;
}

function refused(path: Keys, what: string): EditRefused {
  const message = path.length === 0 ? `it ${what}` : `${JSON.stringify(path.join('.'))} ${what}`;
  return new EditRefused([{ path: '', line: 0, column: 0, message }]);
}

/** Puts one more child at the end of a mapping or list. */
function insert(text: string, holder: Node, prefix: string, value: unknown): string {
  const eol = eolOf(text);
  const last = holder.children?.at(-1);
  const base = indentAt(text, holder.offset);
  const own = last !== undefined && /^[ \t]*$/.test(lineBefore(text, last.offset));
  const inner = last !== undefined && own ? indentAt(text, last.offset) : base + unitOf(text);
  const child = `${eol}${inner}${prefix}${asJson(text, value, inner)}`;
  const close = holder.offset + holder.length - 1;
  if (last === undefined) {
    const kept = text.slice(holder.offset + 1, close).trimEnd();
    return `${text.slice(0, holder.offset + 1)}${kept}${child}${eol}${base}${text.slice(close)}`;
  }
  const end = last.offset + last.length;
  const comma = commaAfter(text, end);
  const at = afterComment(text, comma === undefined ? end : comma + 1);
  const head = comma === undefined ? `${text.slice(0, end)},${text.slice(end, at)}` : text.slice(0, at);
  const tail = /\n/.test(text.slice(at, close)) ? text.slice(at) : `${eol}${base}${text.slice(close)}`;
  return `${head}${child}${comma === undefined ? '' : ','}${tail}`;
}

/** Kinds of tokens; the const enum of the library does not outlive its own compilation. */
const COMMA = 5;
const SKIPPED: ReadonlySet<number> = new Set([12, 13, 14, 15]);

/** Where the comma after a value stands, behind whatever comments. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  let token = Number(scanner.scan());
  while (SKIPPED.has(token)) {
    token = Number(scanner.scan());
  }
  return token === COMMA ? scanner.getTokenOffset() : undefined;
}

/** Where a comment ends that begins on this line; the offset itself where none does. */
function afterComment(text: string, offset: number): number {
  const comment = /[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/(?=[ \t]*\r?\n))/y;
  comment.lastIndex = offset;
  return offset + (comment.exec(text)?.[0].length ?? 0);
}

const lineBefore = (text: string, offset: number) =>
  text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
const indentAt = (text: string, offset: number) => /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? '';
const eolOf = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n');

/** One step of indentation, as the file has it. */
function unitOf(text: string): string {
  const [, indent = '  '] = /^[^\S\r\n]*[{[][^\r\n]*\r?\n([ \t]+)\S/m.exec(text) ?? [];
  return indent;
}

function asJson(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, unitOf(text)).replaceAll('\n', `${eolOf(text)}${indent}`);
}
