import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../base/json.ts';
import { EditRefused } from './edit-json.ts';
import { readToml } from './source.ts';

type Table = Record<string, unknown>;

/** The table of one server in a TOML text, undefined where there is none. Throws an EditRefused where it is no TOML. */
export function tomlAt(text: string, servers: string, name: string): Table | undefined {
  const entry = tableAt(tableAt(parsed(text), servers), name);
  return entry;
}

/**
 * The text with the table of one server: of its members those in `replaced` go, the others and everything else in the
 * file stay as they are. `members` undefined takes the table out. The result is read back: unless it says what it shall,
 * and all else what it said before, an EditRefused is thrown.
 */
export function setTable(
  text: string,
  [servers, name]: readonly [string, string],
  members: JsonObject | undefined,
  replaced: ReadonlySet<string>,
): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.split(/\r?\n/);
  const kept: string[] = [];
  let place: number | undefined;
  let own: readonly string[] = [];
  for (let at = 0; at < lines.length; ) {
    const block = blockAt(lines, at);
    const path = headerOf(block[0] ?? '');
    if (path?.[0] === servers && path[1] === name && path.length === 2) {
      place = kept.length;
      own = block.slice(1).filter((line) => members !== undefined && !replaced.has(keyOf(line) ?? ''));
    } else if (
      !(path?.[0] === servers && path[1] === name && (members === undefined || replaced.has(path[2] ?? '')))
    ) {
      kept.push(...block);
    }
    at += block.length;
  }
  const table =
    members === undefined ? [] : [`[${tomlKey(servers)}.${tomlKey(name)}]`, ...membersOf(members), ...own];
  const next = (place === undefined ? appended(kept, table) : kept.toSpliced(place, 0, ...table)).join(eol);
  const before = parsed(text);
  const expected = withTable(before, [servers, name], members, replaced);
  if (!isDeepStrictEqual(parsed(next), expected)) {
    const message = 'it is written in a way that cannot be edited without risk; put the entry in by hand';
    throw new EditRefused([{ path: '', line: 0, column: 0, message }]);
  }
  return next;
}

/** A header and its lines; comments and blank lines at the end belong to what follows. Lines before any header too. */
function blockAt(lines: readonly string[], at: number): readonly string[] {
  let end = at + 1;
  while (end < lines.length && headerOf(lines[end] ?? '') === undefined) {
    end += 1;
  }
  if (end < lines.length) {
    while (end > at + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1] ?? '')) {
      end -= 1;
    }
  }
  return lines.slice(at, end);
}

/** The keys of a table header: `[a."b.c"]`. */
function headerOf(line: string): readonly string[] | undefined {
  const [, inner] = /^\s*\[{1,2}\s*([^[\]]+?)\s*\]{1,2}\s*(?:#.*)?$/.exec(line) ?? [];
  return inner === undefined
    ? undefined
    : [...inner.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+)/g)].map(
        ([, basic, plain, bare]) => basic ?? plain ?? bare ?? '',
      );
}

const keyOf = (line: string) => /^\s*["']?([\w-]+)["']?\s*[.=]/.exec(line)?.[1];

function appended(kept: readonly string[], table: readonly string[]): readonly string[] {
  const end = kept.findLastIndex((line) => line.trim() !== '') + 1;
  return table.length === 0 ? kept : [...kept.slice(0, end), ...(end === 0 ? [] : ['']), ...table, ''];
}

function membersOf(members: JsonObject): readonly string[] {
  return Object.entries(members).map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`);
}

const tomlKey = (key: string) => (/^[\w-]+$/.test(key) ? key : tomlText(key));

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(tomlValue).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    return `{ ${membersOf(value as JsonObject).join(', ')} }`;
  }
  return typeof value === 'string' ? tomlText(value) : String(value);
}

/** Basic strings of TOML have the escapes of JSON; DEL has to be one of them too. */
const tomlText = (text: string) => JSON.stringify(text).replaceAll('\x7f', '\\u007f');

/** The table alone, as a file of its own would have it. */
export function tomlSnippet(servers: string, name: string, members: JsonObject): string {
  return [`[${tomlKey(servers)}.${tomlKey(name)}]`, ...membersOf(members), ''].join('\n');
}

function parsed(text: string): Table {
  const read = readToml(text);
  if ('fault' in read) {
    throw new EditRefused([read.fault]);
  }
  return read.value as Table;
}

function tableAt(table: Table | undefined, key: string): Table | undefined {
  const value = table !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : undefined;
}

/** What the result has to say. Tables have no prototype, as those of the parser. */
function withTable(
  before: Table,
  [servers, name]: readonly [string, string],
  members: JsonObject | undefined,
  replaced: ReadonlySet<string>,
): Table {
  const all: Table = Object.assign(Object.create(null), before);
  const entries: Table = Object.assign(Object.create(null), tableAt(before, servers));
  const kept = Object.entries(tableAt(entries, name) ?? {}).filter(([key]) => !replaced.has(key));
  if (members === undefined) {
    delete entries[name];
  } else {
    const written = parsed(membersOf(members).join('\n'));
    entries[name] = Object.assign(Object.create(null), written, Object.fromEntries(kept));
  }
  if (Object.keys(entries).length > 0) {
    all[servers] = entries;
  } else {
    delete all[servers];
  }
  return all;
}
