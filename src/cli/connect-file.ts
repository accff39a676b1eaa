import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isObject, type JsonObject, objectAt } from '../base/json.ts';
import { addItem, EditRefused, jsonAt, removeMember, setMembers, setValue } from '../hosts/edit-json.ts';
import { setTable, tomlAt } from '../hosts/edit-toml.ts';
import { type Host, hasPlaceholder, REACHED_BY } from '../hosts/host-table.ts';
import { difference } from './connect-difference.ts';
import { systemCode } from './io.ts';

/** Why nothing was written. `usage`: because of how the command was called, or of what the file is. */
export class ConnectRefused extends Error {
  readonly usage: boolean;

  constructor(message: string, { usage, cause }: { readonly usage: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.name = 'ConnectRefused';
    this.usage = usage;
  }
}

interface Subject {
  readonly host: Host;
  /** Of the entry. */
  readonly name: string;
  /** Is shown the difference; whether it shall be written. */
  readonly ask: (difference: string) => Promise<boolean>;
}

interface Outcome {
  readonly done: boolean;
  readonly backup?: string;
  readonly message: string;
}

/**
 * Puts the entry into the file of the host. What was there is kept beside it under a name that holds the digest of what
 * was written, which is how {@link undo} knows whether the file is still that. Writes that file and its backup alone.
 */
export async function write(
  file: string,
  { host, name, entry, ask }: Subject & { readonly entry: JsonObject },
): Promise<Outcome> {
  const before = readTarget(file);
  const next = edited(file, () => withEntry(before?.text ?? '', host, name, entry));
  if (before?.text === next) {
    return { done: false, message: `${file} has that entry already.` };
  }
  if (!(await ask(difference(file, before?.text ?? '', next)))) {
    return { done: false, message: 'Nothing was written.' };
  }
  sameAs(file, before);
  const backup = backupName(file, next, before === undefined);
  replace(backup, before?.text ?? '', before?.mode ?? PRIVATE);
  replace(file, next, before?.mode ?? PRIVATE);
  return {
    done: true,
    backup,
    message: `Written. ${before === undefined ? 'There was no such file before' : `What was there is in ${backup}`}; --undo takes it back.`,
  };
}

/**
 * Takes the last `write` back: the file becomes what it was where nobody has changed it since, else only the entry does.
 */
export async function undo(file: string, { host, name, ask }: Subject): Promise<Outcome> {
  const now = readTarget(file);
  const backup = lastBackup(file, now?.text);
  if (now === undefined || backup === undefined) {
    throw new ConnectRefused(`there is no backup beside ${file} to go back to`, { usage: false });
  }
  const { path, wasAbsent } = backup;
  const old = readTarget(path)?.text ?? '';
  const untouched = backupName(file, now.text, wasAbsent) === path;
  const next = untouched ? old : edited(file, () => withFormerEntry(now.text, old, host, name));
  if (!(await ask(difference(file, now.text, next)))) {
    return { done: false, message: 'Nothing was written.' };
  }
  sameAs(file, now);
  if (untouched && wasAbsent) {
    remove(file);
  } else {
    replace(file, next, now.mode);
  }
  remove(path);
  const message = untouched
    ? 'Taken back: all is as it was.'
    : 'The file has changed since, so the entry alone was taken back; all else is as it is now.';
  return { done: true, message };
}

/** For a new file: a key may come to stand in it. */
const PRIVATE = 0o600;

interface Read {
  readonly text: string;
  readonly mode: number;
}

/** undefined where there is no such file. Links are not followed: what they lead to was not named. */
function readTarget(file: string): Read | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) {
    if (statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new ConnectRefused(
        `there is no folder ${dirname(file)}; make it if the host is here, or name another file with --file`,
        { usage: true },
      );
    }
    return undefined;
  }
  if (!found.isFile()) {
    const what = found.isSymbolicLink() ? 'a link; name the file that it leads to with --file' : 'no file';
    throw new ConnectRefused(`${file} is ${what}`, { usage: true });
  }
  try {
    // The mark at the beginning stays, as everything else does.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
    return { text, mode: found.mode & 0o777 };
  } catch (thrown) {
    if (thrown instanceof TypeError) {
      throw new ConnectRefused(`${file} is not UTF-8 text`, { usage: true, cause: thrown });
    }
    throw asRefusal(thrown, `${file} cannot be read`);
  }
}

/** What the system has against it is for its user to mend; anything else is a fault, as it was. */
function asRefusal(thrown: unknown, what: string): unknown {
  const code = systemCode(thrown);
  return code === undefined
    ? thrown
    : new ConnectRefused(`${what} (${code})`, { usage: false, cause: thrown });
}

/** Somebody else may have written while a person was asked. */
function sameAs(file: string, before: Read | undefined): void {
  if (readTarget(file)?.text !== before?.text) {
    throw new ConnectRefused(`nothing was written: ${file} has changed meanwhile`, { usage: false });
  }
}

/** Whole or not at all, through a new file in the same folder. */
function replace(file: string, text: string, mode: number): void {
  const beside = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(beside, text, { mode, flag: 'wx' });
    // What the umask took away of what the file had.
    chmodSync(beside, mode);
    renameSync(beside, file);
  } catch (thrown) {
    removeIfThere(beside);
    throw asRefusal(thrown, `${file} cannot be written`);
  }
}

function remove(file: string): void {
  try {
    rmSync(file);
  } catch (thrown) {
    throw asRefusal(thrown, `${file} cannot be removed`);
  }
}

/** Where nothing could be written nothing may be there to be removed, or nothing can be. */
function removeIfThere(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
    rmSync(file, { force: true });
  }
}

function edited(file: string, edit: () => string): string {
  try {
    return edit();
  } catch (thrown) {
    if (thrown instanceof EditRefused) {
      const told = thrown.problems.map(({ line, column, message }) =>
        line === 0 ? message : `${line}:${column}: ${message}`,
      );
      throw new ConnectRefused(`nothing was written: ${file}: ${told.join('; ')}`, {
        usage: true,
        cause: thrown,
      });
    }
    throw thrown;
  }
}

function placeOf(host: Host, text: string): readonly string[] {
  // opencode 2 has them one level deeper than opencode 1.
  const isNested = host.label === 'opencode' && isObject(jsonAt(text, ['mcp', 'servers']));
  return isNested ? ['mcp', 'servers'] : host.servers;
}

function withEntry(whole: string, host: Host, name: string, entry: JsonObject): string {
  const mark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = whole.slice(mark.length);
  const [servers = ''] = host.servers;
  if (host.syntax === 'toml') {
    return mark + setTable(text, [servers, name], entry, REACHED_BY);
  }
  const start = text.trim() === '' ? '{}\n' : text;
  const path = [...placeOf(host, start), name];
  const next = setMembers(start, path, keepingKeys(entry, jsonAt(start, path)), REACHED_BY);
  const { input } = host;
  const isAsked = input !== undefined && JSON.stringify(entry).includes(`\${input:${String(input['id'])}}`);
  return (
    mark +
    (isAsked
      ? addItem(next, ['inputs'], input, (there) => isObject(there) && there['id'] === input['id'])
      : next)
  );
}

/** A key that somebody has put in the place of a placeholder stays. */
function keepingKeys(entry: JsonObject, there: unknown): JsonObject {
  const kept = ['headers', 'env'].flatMap((key) => {
    const [mine, old] = [objectAt(entry, key), objectAt(there, key)];
    return mine !== undefined && old !== undefined && hasPlaceholder(mine)
      ? [[key, { ...mine, ...old }]]
      : [];
  });
  return { ...entry, ...Object.fromEntries(kept) };
}

/** The text of now with the entry as the text of then has it. */
function withFormerEntry(now: string, then: string, host: Host, name: string): string {
  const mark = now.startsWith('\uFEFF') ? '\uFEFF' : '';
  const [text, old] = [now.slice(mark.length), then.replace(/^\uFEFF/, '')];
  const [servers = ''] = host.servers;
  if (host.syntax === 'toml') {
    return mark + setTable(text, [servers, name], tomlAt(old, servers, name), REACHED_BY);
  }
  const path = [...placeOf(host, text), name];
  const former = old.trim() === '' ? undefined : jsonAt(old, path);
  return mark + (former === undefined ? removeMember(text, path) : setValue(text, path, former));
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

function backupName(file: string, written: string, wasAbsent: boolean): string {
  return `${file}.${digestOf(written)}.patchbay-${wasAbsent ? 'new' : 'backup'}`;
}

/** The backup of what the file is now, else the newest. */
function lastBackup(
  file: string,
  now = '',
): { readonly path: string; readonly wasAbsent: boolean } | undefined {
  const pattern = /^\.[0-9a-f]{12}\.patchbay-(new|backup)$/;
  const own = basename(file);
  const names =
    statSync(dirname(file), { throwIfNoEntry: false }) === undefined ? [] : readdirSync(dirname(file));
  const backups = names
    .filter((name) => name.startsWith(own) && pattern.test(name.slice(own.length)))
    .map((name) => ({ path: join(dirname(file), name), wasAbsent: name.endsWith('new') }));
  const of = (wasAbsent: boolean) => backups.find(({ path }) => path === backupName(file, now, wasAbsent));
  const age = ({ path }: { readonly path: string }) => statSync(path).mtimeMs;
  return of(false) ?? of(true) ?? backups.toSorted((a, b) => age(b) - age(a))[0];
}
