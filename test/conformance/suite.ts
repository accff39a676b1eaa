import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

/** The official suite, run as its own process; what it found is read from the files it leaves. */

export type Status = 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';

/** One thing that was looked at. Several of one scenario may have the same id. */
export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly errorMessage?: string;
}

/** What a run found, by scenario, in the order in which they ran. */
export type Report = ReadonlyMap<string, readonly Check[]>;

/** Which scenarios a specification release demands of an implementation, as it was frozen at that release. */
interface Requirements {
  readonly server: readonly string[];
  readonly client: readonly string[];
}

/** Longer than any run takes; it hangs then. */
const LONGEST_MS = 300_000;

const FOLDER = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
);

/** Version of the suite. */
export function suiteVersion(): string {
  return JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')).version;
}

/** What a release demands, or undefined where the suite has no such set. */
export function requirements(version: string): Requirements | undefined {
  const file = join(FOLDER, 'requirements', `${version}.yaml`);
  return existsSync(file) ? (parse(readFileSync(file, 'utf8')) as Requirements) : undefined;
}

/** Every server scenario of one version, on its wire, against a server. */
export function runServer(url: string, version: string): Promise<Report> {
  return run(['server', '--url', url, '--suite', 'all', '--spec-version', version]);
}

/** The scenarios of an extension, which belong to no version, by the beginning of their names. */
export async function runExtension(url: string, prefix: string): Promise<Report> {
  const report = await run(['server', '--url', url, '--suite', 'pending']);
  return new Map([...report].filter(([scenario]) => scenario.startsWith(prefix)));
}

/** The client scenarios of one version, those left out that need an authorization server. */
export async function clientScenarios(version: string): Promise<readonly string[]> {
  const { said } = await start(['list', '--client', '--spec-version', version]);
  const names = [...said.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
  return names.filter((name) => !name.startsWith('auth/'));
}

/**
 * One client scenario: the suite starts the server and then `command` with the server's URL as its last argument. Scenarios
 * of an extension belong to no version.
 */
export function runClient(command: string, scenario: string, version?: string): Promise<Report> {
  const of = version === undefined ? [] : ['--spec-version', version];
  return run(['client', '--command', command, '--scenario', scenario, ...of]);
}

async function run(args: readonly string[]): Promise<Report> {
  const results = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const { said, code } = await start([...args, '-o', results]);
    const report = read(results);
    if (report.size === 0) {
      throw new Error(`the suite left no results: ${lastLines(said)}`);
    }
    return code === 0 ? report : explained(report, said);
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

/** A client that failed is a failure, though no check of the suite says so. */
function explained(report: Report, said: string): Report {
  const failed = [...report.values()]
    .flat()
    .some(({ status }) => status === 'FAILURE' || status === 'WARNING');
  const [only] = report;
  if (failed || only === undefined || report.size > 1) {
    return report;
  }
  const [scenario, checks] = only;
  const exit = {
    id: 'client-exit',
    name: 'ClientExit',
    status: 'FAILURE',
    errorMessage: lastLines(said),
  } as const;
  return new Map([[scenario, [...checks, exit]]]);
}

const lastLines = (text: string) => text.trim().split('\n').slice(-12).join('\n');

function start(args: readonly string[]): Promise<{ said: string; code: number | null }> {
  const suite = join(FOLDER, 'dist', 'index.js');
  return ended(spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }));
}

async function ended(child: ChildProcess): Promise<{ said: string; code: number | null }> {
  let said = '';
  const hear = (chunk: Buffer) => {
    said += chunk.toString();
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('close', resolve);
      child.once('error', reject);
    });
    return { said, code };
  } finally {
    clearTimeout(timer);
  }
}

/** Each folder is named `[server-]<scenario>-<time>`; a name may hold a slash. */
function read(results: string): Report {
  const files = readdirSync(results, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('checks.json'),
  );
  const runs = files.map((file) => {
    const [, scenario = '', time = ''] =
      /^(?:server-)?(.+)-(\d{4}-\d\d-\d\dT[\d-]+Z)$/.exec(dirname(file)) ?? [];
    const checks: readonly Check[] = JSON.parse(readFileSync(join(results, file), 'utf8'));
    return { scenario, time, checks };
  });
  const inOrder = runs.toSorted((one, other) => one.time.localeCompare(other.time));
  return new Map(inOrder.map(({ scenario, checks }) => [scenario, checks]));
}
