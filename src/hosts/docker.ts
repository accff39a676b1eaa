import { own } from '../base/json.ts';
import type { Path } from '../config/problems.ts';
import { type Draft, type Findings, newDraft, remark } from './draft.ts';
import { variableFor } from './ids.ts';
import { entryOf, itemsAt, mapAt, type Source, type SourceEntry, type SourceMap, textAt } from './source.ts';
import { cut, literal, type Part, type Wording } from './wording.ts';

/** One file of Docker's MCP toolkit. */
export interface DockerFile {
  readonly root: SourceMap;
  readonly about: Findings;
}

/** Which of its three files this is: what there is (catalog), what is wanted (registry), or how it is set up. */
function dockerPart({ root }: DockerFile): 'catalog' | 'registry' | 'config' {
  const entries = mapAt(root, 'registry')?.entries;
  if (entries === undefined) {
    return 'config';
  }
  const described = ['image', 'remote', 'type', 'title', 'description', 'pocis'];
  const isCatalog = entries.some(({ value }) => described.some((key) => entryOf(value, key) !== undefined));
  return isCatalog ? 'catalog' : 'registry';
}

/**
 * Servers of Docker catalogs (docker/mcp-gateway, docs/server-entry-spec.md): those with an image become `docker run`
 * commands, remote ones stay remote. Only what a registry file names is on.
 */
export function readDocker(files: readonly DockerFile[]): readonly Draft[] {
  const of = (part: ReturnType<typeof dockerPart>) => files.filter((file) => dockerPart(file) === part);
  const registries = of('registry');
  const wanted = new Set(
    registries.flatMap(({ root }) => mapAt(root, 'registry')?.entries.map(({ key }) => key) ?? []),
  );
  const configs = of('config').map(({ root }) => root);
  const drafts = of('catalog').flatMap(({ root, about }) => {
    if (registries.length === 0) {
      about.notice(
        [],
        { line: 0, column: 0 },
        'all are off: which are wanted stands in registry.yaml; name that file too',
      );
    }
    const entries = mapAt(root, 'registry')?.entries ?? [];
    return entries.flatMap(
      (entry) => readServer(entry, { about, configs, off: !wanted.has(entry.key) }) ?? [],
    );
  });
  const known = new Set(drafts.map(({ name }) => name));
  for (const { root, about } of registries) {
    for (const { key, place } of mapAt(root, 'registry')?.entries ?? []) {
      if (!known.has(key)) {
        about.notice(['registry', key], place, 'NOT IMPORTED: no catalog that was named has it');
      }
    }
  }
  return drafts;
}

interface DockerContext {
  readonly about: Findings;
  readonly configs: readonly SourceMap[];
  readonly off: boolean;
}

/** Members that say what a server may do, in the words of the notice. */
const LIMITS: Readonly<Record<string, string>> = {
  allowHosts: 'NOT APPLIED: `docker run` cannot limit which hosts it reaches; use a network of its own',
};
/** For people, for Docker's own pages, or said in other words in the command. */
const SILENT = new Set([
  ...[
    'title',
    'description',
    'type',
    'image',
    'ref',
    'env',
    'secrets',
    'command',
    'volumes',
    'disableNetwork',
    'user',
  ],
  ...[
    'remote',
    'icon',
    'readme',
    'toolsUrl',
    'source',
    'upstream',
    'dateAdded',
    'metadata',
    'tools',
    'longLived',
    'config',
  ],
  ...['prompts', 'resources'],
]);

function readServer(entry: SourceEntry, context: DockerContext): Draft | undefined {
  const { about, configs, off } = context;
  const path: Path = ['registry', entry.key];
  if (entry.value.kind !== 'map') {
    about.problem(path, entry.value.place, 'must be a mapping');
    return undefined;
  }
  const server = entry.value;
  const draft = newDraft(entry.key, path, entry.place, about);
  draft.off = off;
  for (const { key, place } of server.entries) {
    const limit = own(LIMITS, key);
    if (limit !== undefined) {
      remark(draft, limit, [key], place);
    } else if (key === 'oauth') {
      remark(
        draft,
        'NOT IMPORTED: how Docker signs in by itself; its variable has to hold a token',
        [key],
        place,
      );
    } else if (!SILENT.has(key)) {
      remark(draft, 'not imported: nothing here that means the same', [key], place);
    }
  }
  const templates: Templates = { server, name: entry.key, configs };
  const remote = mapAt(server, 'remote');
  if (remote !== undefined) {
    readRemote(draft, remote, templates);
  } else if (textAt(server, 'image') === undefined) {
    about.problem(path, entry.place, 'neither an image nor a remote URL stands here');
  } else {
    readImage(draft, server, templates);
  }
  return draft;
}

function readRemote(draft: Draft, remote: SourceMap, templates: Templates): void {
  draft.url = filled(textAt(remote, 'url') ?? '', templates);
  const kind = textAt(remote, 'transport_type') ?? textAt(remote, 'transportType');
  if (kind === 'sse') {
    draft.transport = 'sse';
  } else if (kind !== undefined && /^(?:streamable[-_]?)?http$/i.test(kind)) {
    draft.transport = 'streamable-http';
  } else if (kind !== undefined) {
    remark(draft, 'not a transport that is known; found out when it is connected', [
      'remote',
      'transport_type',
    ]);
  }
  for (const { key } of mapAt(remote, 'headers')?.entries ?? []) {
    draft.headers.set(key, filled(textAt(mapAt(remote, 'headers'), key) ?? '', templates));
  }
  const held = itemsAt(templates.server, 'secrets').map((secret) => textAt(secret, 'env') ?? '');
  if (held.some((name) => name !== '')) {
    remark(draft, `needs ${held.join(', ')}`, ['secrets']);
  }
}

function readImage(draft: Draft, server: SourceMap, templates: Templates): void {
  const args = ['run', '--rm', '-i', '--init', '--security-opt', 'no-new-privileges'].map(literal);
  const add = (...words: readonly Wording[]) => args.push(...words);
  for (const item of itemsAt(server, 'env')) {
    const name = textAt(item, 'name') ?? '';
    draft.env.set(name, filled(textAt(item, 'value') ?? '', templates));
    add(literal('-e'), literal(name));
  }
  for (const item of itemsAt(server, 'secrets')) {
    const name = textAt(item, 'env') ?? variableFor(textAt(item, 'name') ?? '');
    draft.env.set(name, [{ variable: name }]);
    add(literal('-e'), literal(name));
  }
  const user = textAt(server, 'user');
  if (user !== undefined) {
    add(literal('--user'), filled(user, templates));
  }
  if (isTrue(server, 'disableNetwork')) {
    add(literal('--network'), literal('none'));
  }
  for (const volume of itemsAt(server, 'volumes')) {
    const text = volume.kind === 'scalar' ? String(volume.value) : '';
    for (const each of volumesOf(text, templates)) {
      add(literal('-v'), each);
    }
  }
  add(literal(textAt(server, 'image') ?? ''));
  for (const word of itemsAt(server, 'command')) {
    add(filled(word.kind === 'scalar' ? String(word.value) : '', templates));
  }
  draft.command = literal('docker');
  draft.args = args;
}

const isTrue = (source: Source, key: string) => {
  const value = entryOf(source, key)?.value;
  return value?.kind === 'scalar' && value.value === true;
};

interface Templates {
  readonly server: SourceMap;
  readonly name: string;
  readonly configs: readonly SourceMap[];
}

/** `{{name.key}}`: what config.yaml says, else the default of the catalog, else a variable. `${V}` is a variable. */
function filled(text: string, templates: Templates): Wording {
  return cut(
    text,
    /\{\{([^{}|]+)(?:\|[^{}]*)?\}\}|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g,
    (match) => {
      const [, template, braced, bare = ''] = match;
      return template === undefined
        ? { variable: braced ?? bare }
        : templateValue(template.trim(), templates);
    },
  );
}

function templateValue(template: string, templates: Templates): Part {
  const found = configured(template, templates);
  return found?.kind === 'scalar' && found.value !== null
    ? { literal: String(found.value) }
    : { variable: variableFor(template), standIn: defaultOf(template, templates.server) };
}

function configured(template: string, { configs, name }: Templates): Source | undefined {
  const steps = template.split('.');
  for (const config of configs) {
    for (const way of [steps, [name, ...steps]]) {
      const found = way.reduce<Source | undefined>((at, step) => entryOf(at, step)?.value, config);
      if (found !== undefined) {
        return found;
      }
    }
  }
  return undefined;
}

function defaultOf(template: string, server: SourceMap): string | undefined {
  const [, ...steps] = template.split('.');
  for (const item of itemsAt(server, 'config')) {
    const declared = steps.reduce<Source | undefined>(
      (at, step) => mapAt(mapAt(at, 'properties'), step),
      item,
    );
    const value = entryOf(declared, 'default')?.value;
    if (value?.kind === 'scalar' && value.value !== null) {
      return String(value.value);
    }
  }
  return undefined;
}

/** `{{x.paths|volume|into}}` is one volume for each folder, under its own path. */
function volumesOf(text: string, templates: Templates): readonly Wording[] {
  const [, template, filters = ''] = /^\{\{([^{}|]+)\|([^{}]*)\}\}$/.exec(text) ?? [];
  if (template === undefined || !filters.includes('volume')) {
    return [filled(text, templates)];
  }
  const found = configured(template.trim(), templates);
  const folders = found?.kind === 'list' ? found.items : found === undefined ? [] : [found];
  const texts = folders.flatMap((folder) => (folder.kind === 'scalar' ? [String(folder.value)] : []));
  const variable = { variable: variableFor(template) };
  return texts.length > 0
    ? texts.map((folder) => literal(`${folder}:${folder}`))
    : [[variable, { literal: ':' }, variable]];
}
