import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { loadSettings } from '../config/load.ts';
import { parseAmount } from '../config/units.ts';
import { type Usage, UsageReader } from '../observe/usage.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, overridesOf } from './open.ts';
import { counted, table } from './text.ts';

export interface UsageOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly since?: string;
  /** Most rows of each table; 0 for all. */
  readonly top: number;
}

/**
 * `usage`: says from the audit log which tools were offered but never called, which were called without having been
 * offered, and which fail most. Without `files` the one of the configuration is read, and what was rotated out of it.
 * Exit code 1 where a file cannot be read, 2 where there is none to read.
 */
export async function usage(
  files: readonly string[],
  options: UsageOptions,
  io: Pick<Io, 'out' | 'err' | 'env' | 'columns'>,
): Promise<ExitCode> {
  const since = options.since === undefined ? Number.NEGATIVE_INFINITY : sinceOf(options.since);
  if (since === undefined) {
    io.err('error: --since takes a duration such as 7d, or a date such as 2026-07-28\n');
    return EXIT.usage;
  }
  const named = files.length > 0 ? files : await configured(options, io);
  if (named.length === 0) {
    io.err('error: name a file, or give audit.file in the configuration\n');
    return EXIT.usage;
  }
  const reader = new UsageReader(since);
  for (const file of named) {
    try {
      await readInto(reader, file);
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown';
      io.err(`error: ${file} cannot be read (${code})\n`);
      return EXIT.failed;
    }
  }
  const found = reader.usage();
  io.out(options.json === true ? `${JSON.stringify(found)}\n` : textOf(found, options.top, io.columns));
  return EXIT.ok;
}

/** From how many ms since the epoch on; undefined for what is neither a duration nor a date. */
function sinceOf(text: string): number | undefined {
  const ago = parseAmount('duration', text);
  if (ago !== undefined) {
    return Date.now() - ago;
  }
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date;
}

async function configured(options: UsageOptions, io: Pick<Io, 'env'>): Promise<readonly string[]> {
  const { settings } = await loadSettings(options.config, {
    env: io.env,
    overrides: overridesOf(options),
    refuseEmpty: false,
  });
  const { file } = settings.audit;
  return file === undefined || file === '-' ? [] : withRotated(file);
}

/** The file and those that were rotated out of it, the oldest first: what is told once is told before it is named. */
async function withRotated(file: string): Promise<readonly string[]> {
  // Where there is no folder, reading the file says so.
  const names = await readdir(dirname(file)).catch((): string[] => []);
  const numbers = names
    .filter((name) => name.startsWith(`${basename(file)}.`))
    .map((name) => Number(name.slice(basename(file).length + 1)))
    .filter((number) => Number.isInteger(number) && number > 0);
  const rotated = numbers.toSorted((a, b) => b - a).map((number) => `${file}.${number}`);
  return [...rotated, file];
}

async function readInto(reader: UsageReader, file: string): Promise<void> {
  // The interface of lines would not tell that there is no such file.
  await stat(file);
  for await (const line of createInterface({
    input: createReadStream(file),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    reader.read(line);
  }
}

function textOf(found: Usage, top: number, columns: number | undefined): string {
  const { from, to, calls, lists, unread } = found;
  const span = from === null ? 'nothing' : `${from} to ${to}`;
  const head = `${span}: ${counted(calls, 'calls')}, ${counted(lists, 'lists')}`;
  const odd = unread === 0 ? '' : ` (${counted(unread, 'lines')} that are none of an audit log)`;
  const cut = <T>(rows: readonly T[]) => (top === 0 ? rows : rows.slice(0, top));
  const sections = [
    section(
      'Upstreams',
      ['upstream', 'offered', 'called', 'calls', 'failures'],
      found.upstreams.length,
      found.upstreams.map((each) => [
        each.upstream,
        String(each.offered),
        String(each.called),
        String(each.calls),
        String(each.failures),
      ]),
    ),
    section(
      'Offered, but never called',
      ['name', 'kind', 'bytes', 'users'],
      found.neverCalled.length,
      cut(found.neverCalled).map((each) => [
        full(each),
        each.kind,
        String(each.bytes),
        String(each.offeredTo),
      ]),
    ),
    section(
      'Called, but not offered',
      ['name', 'upstream', 'calls', 'users', 'outcomes'],
      found.notOffered.length,
      cut(found.notOffered).map((each) => [
        each.name,
        each.upstream ?? '',
        String(each.calls),
        String(each.by),
        outcomes(each.outcomes),
      ]),
    ),
    section(
      'Failing most',
      ['name', 'kind', 'failures', 'calls', 'outcomes'],
      found.failing.length,
      cut(found.failing).map((each) => [
        full(each),
        each.kind,
        String(each.failures),
        String(each.calls),
        outcomes(each.outcomes),
      ]),
    ),
  ];
  return [`${head}${odd}`, ...sections.flatMap((each) => each(columns)), ''].join('\n');
}

function section(
  title: string,
  head: readonly string[],
  total: number,
  rows: readonly (readonly string[])[],
): (columns: number | undefined) => readonly string[] {
  return (columns) => {
    if (total === 0) {
      return ['', `${title}: none`];
    }
    const more = total > rows.length ? `, the first ${rows.length} of ${total}` : '';
    return ['', `${title}${more}`, ...table([head, ...rows], '  ', columns)];
  };
}

function full({ upstream, original }: { readonly upstream: string; readonly original: string }): string {
  return `${upstream}.${original}`;
}

function outcomes(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
