import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { parseSettings } from '../config/load.ts';
import { ConfigError, formatProblems, type Problem } from '../config/problems.ts';
import type { FormatName } from '../hosts/formats.ts';
import { type Gathered, gather, type HostFile } from '../hosts/gather.ts';
import { toYaml } from '../hosts/to-yaml.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { forTerminal } from './text.ts';

export interface ImportOptions {
  readonly json?: boolean;
  readonly from?: FormatName;
}

/** Files of hosts are small; this is far beyond any. Bytes. */
const LARGEST = 32 * 1024 * 1024;

/** `import`: prints what files of hosts declare as a configuration of the gateway. Starts nothing and writes nothing. */
export async function importFiles(
  names: readonly string[],
  { json = false, from }: ImportOptions,
  io: Io,
): Promise<ExitCode> {
  const read = names.map((name) => readHostFile(name));
  const files = read.flatMap((each) => ('text' in each ? [each] : []));
  const unread = read.flatMap((each) => ('problems' in each ? [each] : []));
  const gathered = gather(files, { format: from, home: io.env['HOME'] ?? homedir(), readFile: textOf });
  const yaml = toYaml(gathered);
  const broken = [...unread, ...gathered.problems];
  const problems = broken.length > 0 ? broken : refusedByLoader(yaml);
  if (problems.length > 0) {
    return refuse(problems, json, io);
  }
  for (const { file, path, line, column, message } of gathered.notices) {
    io.err(forTerminal(`notice: ${formatProblems([{ path, line, column, message }], file)}\n`));
  }
  io.out(json ? `${JSON.stringify(report(gathered), undefined, 2)}\n` : yaml);
  return EXIT.ok;
}

interface Broken {
  readonly file: string;
  readonly problems: readonly Problem[];
}

function refuse(broken: readonly Broken[], json: boolean, io: Io): ExitCode {
  if (json) {
    const problems = broken.flatMap(({ file, problems: all }) =>
      all.map((problem) => ({ file, ...problem })),
    );
    io.out(`${JSON.stringify({ ok: false, problems }, undefined, 2)}\n`);
  } else {
    for (const { file, problems } of broken) {
      const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
      io.err(forTerminal(`${formatProblems(ordered, file)}\n`));
    }
  }
  return EXIT.usage;
}

function report({ upstreams, notices, variables, sources }: Gathered): object {
  const entries = upstreams.flatMap(({ id, entry }) =>
    entry === undefined ? [] : [[id, plainly(entry)] as const],
  );
  return { ok: true, config: { upstreams: Object.fromEntries(entries) }, variables, notices, sources };
}

function plainly(value: unknown): unknown {
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, each]) => [key, plainly(each)]));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainly(each)]));
  }
  return value;
}

/** Nothing is printed that the gateway would not take: whatever else is wrong with a value is found here. */
function refusedByLoader(yaml: string): readonly Broken[] {
  try {
    parseSettings(yaml, {
      env: {},
      file: resolve('imported.yaml'),
      readFile: () => '',
    });
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      const problems = thrown.problems.map((problem) => ({ ...problem, line: 0, column: 0 }));
      return [{ file: 'the imported configuration', problems }];
    }
    throw thrown;
  }
}

function readHostFile(name: string): HostFile | Broken {
  const path = resolve(name);
  const refused = (message: string): Broken => ({
    file: name,
    problems: [{ path: '', line: 0, column: 0, message }],
  });
  try {
    const bytes = readFileSync(path);
    return bytes.length > LARGEST ? refused('the file is too large') : { name, path, text: decode(bytes) };
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
    return refused(
      code === 'ENOENT'
        ? 'there is no such file'
        : code.startsWith('ERR_ENCODING')
          ? 'the file is not UTF-8 text'
          : `the file cannot be read (${code})`,
    );
  }
}

const decode = (bytes: Buffer) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);

function textOf(path: string): string | undefined {
  const read = readHostFile(path);
  return 'text' in read ? read.text : undefined;
}
