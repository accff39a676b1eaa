import { dirname, isAbsolute, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Problem } from '../config/problems.ts';
import { formatOf } from './detect.ts';
import { workspaceOf } from './dialect.ts';
import { type DockerFile, readDocker } from './docker.ts';
import { type Draft, Findings, type Notice, remark, wordingsOf } from './draft.ts';
import { readEntry } from './entry.ts';
import { FORMATS, type FormatName } from './formats.ts';
import { hideSecrets, referredBy, Variables } from './hide.ts';
import { distinct, idFor } from './ids.ts';
import { readServerJson } from './server-json.ts';
import {
  entryOf,
  itemsAt,
  mapAt,
  parseSource,
  type Source,
  type SourceMap,
  syntaxOf,
  textAt,
} from './source.ts';
import { type Imported, upstreamOf } from './upstream.ts';
import { canBeWritten, plain, type Wording } from './wording.ts';

export interface HostFile {
  /** As the user named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

export interface GatherOptions {
  /** Instead of what the file looks like. */
  readonly format?: FormatName | undefined;
  /** Home folder of the user, absolute. */
  readonly home: string | undefined;
  /** Text of a file that an entry names (`envFile`); undefined where it cannot be read. Absolute path. */
  readonly readFile: (path: string) => string | undefined;
}

export interface Gathered {
  /** By file, in the order of the files. Where there are any, nothing was imported. */
  readonly problems: readonly { readonly file: string; readonly problems: readonly Problem[] }[];
  readonly notices: readonly Notice[];
  readonly sources: readonly { readonly file: string; readonly label: string }[];
  readonly upstreams: readonly Imported[];
  /** Variables that have to be set for all of it. */
  readonly variables: readonly string[];
}

/**
 * Turns files of hosts into upstreams. Nothing is started, fetched or looked up: references stay references, and secrets
 * that stand in the files become some. The only thing read beside the files is what an entry names as `envFile`.
 */
export function gather(files: readonly HostFile[], options: GatherOptions): Gathered {
  const read = files.map((file) => readFileOf(file, options));
  const docker = read.flatMap(({ dockerFile }) => dockerFile ?? []);
  const drafts = [...read.flatMap((each) => each.drafts), ...(docker.length > 0 ? readDocker(docker) : [])];
  const named = withIds(drafts);
  const variables = new Variables(drafts.flatMap(referredBy));
  for (const [id, draft] of named) {
    checkWordings(draft);
    hideSecrets(draft, id, variables);
  }
  const upstreams = [...named].map(([id, draft]) => upstreamOf(id, draft));
  const problems = read
    .map(({ about }) => ({ file: about.file, problems: about.problems }))
    .filter((each) => each.problems.length > 0);
  return {
    problems,
    notices: read.flatMap(({ about }) =>
      about.notices.toSorted((a, b) => a.line - b.line || a.column - b.column),
    ),
    sources: read.map(({ about, label }) => ({ file: about.file, label })),
    upstreams,
    variables: [...new Set(upstreams.flatMap((upstream) => upstream.needs))].filter(
      (name) => name !== 'HOME',
    ),
  };
}

interface Read {
  readonly about: Findings;
  readonly label: string;
  readonly drafts: readonly Draft[];
  readonly dockerFile?: DockerFile;
}

function readFileOf(file: HostFile, options: GatherOptions): Read {
  const about = new Findings(file.name);
  const none: Read = { about, label: '', drafts: [] };
  const syntax = syntaxOf(file.path, file.text);
  const root = parseSource(file.text, syntax);
  if (!('kind' in root)) {
    about.problems.push(...root);
    return none;
  }
  if (root.kind !== 'map') {
    about.problem([], root.place, 'must be a mapping');
    return none;
  }
  // config.yaml of Docker has no mark of its own: it is any mapping.
  const format =
    options.format ??
    formatOf(root, file.path) ??
    (syntax === 'yaml' && isDockerConfig(file.path) ? 'docker' : undefined);
  if (format === 'docker') {
    return { ...none, label: 'Docker', dockerFile: { root, about } };
  }
  if (format === 'registry') {
    return { ...none, label: 'MCP registry', drafts: readServerJson(root, about) };
  }
  if (format === undefined) {
    const own =
      entryOf(root, 'upstreams') === undefined
        ? 'not a format that is known; name it with --from'
        : 'this is a configuration of the gateway already';
    about.problem([], root.place, own);
    return none;
  }
  return {
    about,
    label: FORMATS[format].label,
    drafts: readServers(root, format, { file, about, ...options }),
  };
}

const isDockerConfig = (path: string) => /(?:^|[\\/])config\.ya?ml$/i.test(path);

interface ServersContext extends GatherOptions {
  readonly file: HostFile;
  readonly about: Findings;
}

function readServers(root: SourceMap, name: keyof typeof FORMATS, context: ServersContext): readonly Draft[] {
  const { about, file, home } = context;
  const format = FORMATS[name];
  // VS Code keeps them under "mcp" in its settings, opencode 2 under "servers" in "mcp".
  const [key = ''] = format.root;
  const direct = mapAt(root, key);
  const holder = name === 'vscode' && direct === undefined ? mapAt(root, 'mcp') : root;
  const nested = name === 'opencode' ? mapAt(direct, 'servers') : undefined;
  const servers = nested ?? mapAt(holder, key);
  const path = nested === undefined ? (holder === root ? [key] : ['mcp', key]) : [key, 'servers'];
  if (servers === undefined) {
    about.problem(
      [key],
      entryOf(root, key)?.value.place ?? root.place,
      'must be a mapping of names to servers',
    );
    return [];
  }
  for (const other of ['mcpServers', 'servers', 'context_servers']) {
    const second = entryOf(root, other);
    if (other !== key && second !== undefined && mapAt(root, other) !== undefined) {
      about.problem([other], second.place, `servers stand here and in "${key}" too; keep one`);
    }
  }
  const around = { workspace: workspaceOf(file.path, home), inputs: inputsOf(holder) };
  const envFile = (words: Wording) => readEnvFile(words, context);
  const seen = new Set<string>();
  const drafts = servers.entries.flatMap((entry) => {
    if (seen.has(entry.key)) {
      about.problem([...path, entry.key], entry.place, 'this key stands here twice');
    }
    seen.add(entry.key);
    return readEntry(entry, { format, around, about, path, envFile }) ?? [];
  });
  if (name === 'gemini') {
    applyLists(drafts, mapAt(root, 'mcp'));
  }
  return drafts;
}

/** `inputs` of VS Code: what the editor asks for becomes a variable. */
function inputsOf(root: Source | undefined): ReadonlyMap<string, string | undefined> {
  return new Map(
    itemsAt(root, 'inputs').flatMap((item) => {
      const id = textAt(item, 'id');
      return id === undefined ? [] : [[id, textAt(item, 'default')] as const];
    }),
  );
}

function readEnvFile(
  words: Wording,
  { file, home, readFile }: ServersContext,
): ReadonlyMap<string, string> | undefined {
  const known: Readonly<Record<string, string | undefined>> = { HOME: home };
  const parts = words.map((part) =>
    'literal' in part
      ? part.literal
      : 'variable' in part
        ? (part.standIn ?? known[part.variable])
        : undefined,
  );
  if (parts.includes(undefined)) {
    return undefined;
  }
  const path = parts.join('');
  const text = readFile(isAbsolute(path) ? path : resolve(dirname(file.path), path));
  return text === undefined
    ? undefined
    : new Map(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? '']));
}

/** `mcp.allowed` and `mcp.excluded` of Gemini CLI. */
function applyLists(drafts: readonly Draft[], mcp: SourceMap | undefined): void {
  const names = (key: string) =>
    itemsAt(mcp, key).map((item) => (item.kind === 'scalar' ? item.value : undefined));
  const allowed = names('allowed');
  const excluded = names('excluded');
  for (const draft of drafts) {
    const why = excluded.includes(draft.name) ? '"mcp.excluded" names it' : '"mcp.allowed" does not name it';
    if (
      excluded.includes(draft.name) ||
      (entryOf(mcp, 'allowed') !== undefined && !allowed.includes(draft.name))
    ) {
      draft.off = true;
      remark(draft, `off: ${why}`);
    }
  }
}

/** Ids are one each: two names of one file that become one are a mistake, of two files they are told apart. */
function withIds(drafts: readonly Draft[]): ReadonlyMap<string, Draft> {
  const named = new Map<string, Draft>();
  for (const draft of drafts) {
    const { about, path, place, name } = draft;
    const wanted = idFor(name);
    const other = wanted === undefined ? undefined : named.get(wanted);
    if (wanted === undefined) {
      about.problem(path, place, 'a server without a name');
    } else if (other?.about === about) {
      if (other.name !== name) {
        about.problem(
          path,
          place,
          `becomes the same id as ${JSON.stringify(other.name)}: "${wanted}"; rename one`,
        );
      }
    } else {
      const id = distinct(wanted, new Set(named.keys()));
      if (id !== name) {
        remark(
          draft,
          `its id is "${id}": ${id === wanted ? idReason(name) : 'another file has one of that name'}`,
        );
      }
      named.set(id, draft);
    }
  }
  return named;
}

const idReason = (name: string) =>
  name.length > 32 ? 'ids have at most 32 characters' : 'ids hold a-z, 0-9, "_" and "-" only';

/** What no configuration could say, and what no request could send. */
function checkWordings(draft: Draft): void {
  for (const [at, text] of wordingsOf(draft)) {
    const literals = text.map((part) => ('literal' in part ? part.literal : '')).join('');
    if (!canBeWritten(text)) {
      draft.about.problem(
        [...draft.path, ...at],
        draft.place,
        'a "$" directly before a reference cannot be written',
      );
    }
    if (literals.includes('\0') || (at[0] === 'headers' && /[^\t\x20-\x7e\x80-\xff]/.test(literals))) {
      draft.about.problem(
        [...draft.path, ...at],
        draft.place,
        'must not hold line breaks or control characters',
      );
    }
  }
  for (const name of draft.headers.keys()) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      draft.about.problem([...draft.path, 'headers', name], draft.place, 'not the name of a header');
    }
  }
  const url = plain(draft.url ?? []);
  if (draft.url !== undefined && url !== undefined && !URL.canParse(url)) {
    draft.about.problem([...draft.path, 'url'], draft.place, 'must be a complete URL');
  }
}
