import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { check, complete } from './check.ts';
import { expand, type Sources } from './interpolate.ts';
import { noteLines } from './lines.ts';
import { ConfigError, type Path, type Problem } from './problems.ts';
import { SettingsReader, type Unset } from './read.ts';
import { SETTINGS, type Settings, type SettingsFile } from './settings.ts';
import { parseYaml } from './yaml.ts';

export interface Loaded {
  readonly settings: Settings;
  /**
   * What variables and files brought in, without repeats, for redaction. Values shorter than 6 signs are left out:
   * masking every "1" or "true" would make logs unreadable and hide nothing.
   */
  readonly secrets: readonly string[];
}

/** What outranks the file: command line and environment. */
interface Overrides {
  readonly host?: string;
  readonly port?: number;
}

export interface LoadOptions {
  readonly env: Sources['env'];
  /** Hears of each file that the configuration names (`${file:…}`), also where it cannot be read: its absolute path. */
  readonly named?: (path: string) => void;
  /** Nothing at all is an empty configuration when the gateway starts; later it is a file that is being written. */
  readonly refuseEmpty?: boolean;
  readonly overrides?: Overrides;
}

/** @internal */
export interface ParseOptions extends LoadOptions {
  /** Path of the file, absolute: its folder is where relative paths in it start, its name stands before problems. */
  readonly file: string;
  /** For `${file:…}`; gets an absolute path. */
  readonly readFile: Sources['readFile'];
}

const SHORTEST_SECRET = 6;

/** Reads and checks a configuration file. Rejects with a ConfigError that lists every mistake. */
export async function loadSettings(path: string, options: LoadOptions): Promise<Loaded> {
  const file = resolve(path);
  const text = await readText(file);
  // References are few and their files small (secrets), so reading them in step keeps the walk simple.
  return parseSettings(text, { ...options, file, readFile: (secret) => readFileSync(secret, 'utf8') });
}

async function readText(file: string): Promise<string> {
  const refuse = (message: string, cause: unknown) =>
    new ConfigError([{ path: '', line: 0, column: 0, message }], file, cause);
  const bytes = await readFile(file).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
    throw refuse(code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`, cause);
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw refuse('the file is not UTF-8 text', cause);
  }
}

/** Like {@link loadSettings} for a text that was read already; does no I/O of its own. Throws a ConfigError. @internal */
export function parseSettings(text: string, options: ParseOptions): Loaded {
  const { file, env, overrides = {} } = options;
  const folder = dirname(file);
  if (options.refuseEmpty === true && text.trim() === '') {
    throw new ConfigError([{ path: '', line: 0, column: 0, message: 'the file is empty' }], file);
  }
  const yaml = parseYaml(text);
  if (yaml.faults.length > 0) {
    // What was understood of a damaged file is guesswork; mistakes found in it would be too.
    throw new ConfigError(firstOfEachLine(yaml.faults.map((fault) => ({ ...fault, path: '' }))), file);
  }
  const fromFolder = (path: string) => {
    const whole = resolve(folder, path);
    options.named?.(whole);
    return options.readFile(whole);
  };
  const reader = new SettingsReader(yaml, (value) => expand(value, { env, readFile: fromFolder }));
  // The one place where the walk meets the type: both come from the same declaration.
  const read = reader.read(SETTINGS, yaml.root, []) as SettingsFile;

  const { lacking, fatal } = sortUnset(reader.unset, read);
  const settings = complete(read, { folder, lacking, ...overrides });
  check(settings, (path: Path, message: string) => reader.report(path, message));

  const problems = [...reader.problems, ...fatal, ...judgeOverrides(overrides)];
  if (problems.length > 0) {
    throw new ConfigError(problems, file);
  }
  const secrets = [...reader.secrets].filter((secret) => secret.length >= SHORTEST_SECRET);
  noteLines(settings, yaml);
  return { settings: freeze(settings), secrets };
}

/** One mistake makes the parser stumble several times; on one line, only the first says something. */
function firstOfEachLine(problems: readonly Problem[]): readonly Problem[] {
  return problems.filter(
    (problem, index) => problems.findIndex(({ line }) => line === problem.line) === index,
  );
}

/**
 * A reference that leads nowhere is a mistake, unless it belongs to an upstream that is off anyway, or to an optional
 * one, which it turns off with a reason (cases C-079 and C-083: the others start).
 */
function sortUnset(unset: readonly Unset[], read: SettingsFile) {
  const lacking = new Map<string, string>();
  const fatal: Problem[] = [];
  for (const { steps, ...problem } of unset) {
    const [section, id] = steps;
    const entry = section === 'upstreams' && typeof id === 'string' ? read.upstreams[id] : undefined;
    if (typeof id === 'string' && (entry?.optional || entry?.enabled === false)) {
      const reason = `${problem.path}: ${problem.message}`;
      const before = lacking.get(id);
      lacking.set(id, before === undefined ? reason : `${before}; ${reason}`);
    } else {
      fatal.push(problem);
    }
  }
  return { lacking, fatal };
}

function judgeOverrides({ host, port = 0 }: Overrides): readonly Problem[] {
  const nowhere = { line: 0, column: 0 };
  const problems: Problem[] = [];
  if (host === '') {
    problems.push({ ...nowhere, path: 'listen.host', message: 'the host given from outside is empty' });
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    const message = 'the port given from outside must be a whole number from 0 to 65535';
    problems.push({ ...nowhere, path: 'listen.port', message });
  }
  return problems;
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze);
    Object.freeze(value);
  }
  return value;
}
