import { spawn } from 'node:child_process';
import { chmod, chown, cp, mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** One instruction of a Dockerfile: `name` in capitals, `args` with continued lines joined. */
export interface Instruction {
  readonly name: string;
  readonly args: string;
}

export interface Stage {
  readonly name: string;
  /** An image, or an earlier stage. */
  readonly base: string;
  readonly steps: readonly Instruction[];
}

/** Reads what this project's Dockerfile uses of the format: comments, continued lines, named stages. Throws elsewhere. */
export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line));
  const joined = lines.join('\n').replaceAll(/\\\n\s*/g, '');
  const stages: { name: string; base: string; steps: Instruction[] }[] = [];
  for (const line of joined.split('\n')) {
    const [, name = '', args = ''] = /^([A-Z]+)\s+(.+)$/.exec(line) ?? [];
    const [, base, stage] = /^(\S+)\s+AS\s+(\S+)$/.exec(name === 'FROM' ? args : '') ?? [];
    if (base !== undefined && stage !== undefined) {
      stages.push({ base, name: stage, steps: [] });
    } else if (name === '' || name === 'FROM' || stages.length === 0) {
      throw new Error(`not understood: ${line}`);
    } else {
      stages.at(-1)?.steps.push({ name, args });
    }
  }
  return stages;
}

/** The words of an exec form; undefined for a shell form. */
export function execForm(args: string): readonly string[] | undefined {
  return args.startsWith('[') ? (JSON.parse(args) as string[]) : undefined;
}

/** What the instructions of a stage, those of the stages below it included, leave behind. */
export interface Image {
  /** The folder that stands for `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly healthcheck: readonly string[];
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

export interface ReplayOptions {
  readonly stages: readonly Stage[];
  /** Root of the repository. */
  readonly context: string;
  /** Files of the context that are not ignored, relative to it. */
  readonly files: readonly string[];
  /** Stages become folders in here. */
  readonly folder: string;
  /** Environment of `RUN` steps: stands for the base image, its Node first in the path. */
  readonly env: NodeJS.ProcessEnv;
  /** A `node_modules` that stands for `npm ci` of everything where it came from the same lock file. */
  readonly installed: string;
}

/** Replays stages without a container: each once, what they do not share at the same time. */
export function createReplay(options: ReplayOptions): (stage: string) => Promise<Image> {
  const built = new Map<string, Promise<Image>>();
  const build = (name: string): Promise<Image> => {
    const known = built.get(name) ?? replay(name, options, build);
    built.set(name, known);
    return known;
  };
  return build;
}

type Building = { -readonly [K in keyof Image]: Image[K] };

async function replay(
  name: string,
  options: ReplayOptions,
  build: (stage: string) => Promise<Image>,
): Promise<Image> {
  const stage = options.stages.find((each) => each.name === name);
  if (stage === undefined) {
    throw new Error(`there is no stage ${name}`);
  }
  const root = join(options.folder, name);
  const image = await start(stage, root, options, build);
  for (const { name: kind, args } of stage.steps) {
    const here = join(root, image.workdir);
    switch (kind) {
      case 'WORKDIR':
        image.workdir = args;
        await mkdir(join(root, args), { recursive: true });
        break;
      case 'COPY':
        await copy(args, here, options, build);
        break;
      case 'RUN':
        await run(args, root, here, options);
        break;
      case 'ENV':
        image.env = { ...image.env, ...variables(args) };
        break;
      case 'USER':
        image.user = args;
        break;
      case 'HEALTHCHECK':
        image.healthcheck = execForm(args.replace(/^(?:--\S+\s+)*CMD\s+/, '')) ?? [];
        break;
      case 'ENTRYPOINT':
        image.entrypoint = execForm(args) ?? [];
        break;
      case 'CMD':
        image.command = execForm(args) ?? [];
        break;
      case 'EXPOSE':
      case 'VOLUME':
        break;
      default:
        throw new Error(`the replay does not know ${kind}`);
    }
  }
  return image;
}

async function start(
  { base }: Stage,
  root: string,
  options: ReplayOptions,
  build: (stage: string) => Promise<Image>,
): Promise<Building> {
  if (!options.stages.some((each) => each.name === base)) {
    await mkdir(root);
    return { root, workdir: '/', env: {}, user: 'root', healthcheck: [], entrypoint: [], command: [] };
  }
  const below = await build(base);
  await link(below.root, root, options);
  return { ...below, root };
}

async function copy(
  args: string,
  here: string,
  options: ReplayOptions,
  build: (stage: string) => Promise<Image>,
): Promise<void> {
  const words = args.split(/\s+/);
  const [, from] = /^--from=(\S+)$/.exec(words[0] ?? '') ?? [];
  const sources = words.slice(from === undefined ? 0 : 1, -1);
  const target = words.at(-1) ?? '';
  if (from !== undefined) {
    const { root } = await build(from);
    await link(join(root, sources[0] ?? ''), join(here, target), options);
    return;
  }
  for (const source of sources) {
    const inside = options.files.filter((file) => file === source || file.startsWith(`${source}/`));
    if (inside.length === 0) {
      throw new Error(`COPY ${source}: nothing of that name is in the build context`);
    }
    for (const file of inside) {
      const to = target.endsWith('/')
        ? join(here, target, file === source ? basename(file) : file)
        : join(here, target, file.slice(source.length));
      await mkdir(dirname(to), { recursive: true });
      await cp(join(options.context, file), to);
    }
  }
}

/** Only steps whose effect here is their effect in an image; a new kind has to be taught. */
async function run(script: string, root: string, here: string, options: ReplayOptions): Promise<void> {
  const [, mode, user, group, path] =
    /^install -d -m (\d+) -o (\d+) -g (\d+) (\/[\w./-]+)$/.exec(script) ?? [];
  if (mode !== undefined && path !== undefined) {
    await mkdir(join(root, path), { recursive: true });
    await chmod(join(root, path), Number.parseInt(mode, 8));
    if (process.getuid?.() === 0) {
      await chown(join(root, path), Number(user), Number(group));
    }
    return;
  }
  if (!/^npm [\w :=-]+$/.test(script)) {
    throw new Error(`the replay does not know RUN ${script}`);
  }
  if (script === 'npm ci --ignore-scripts' && (await hasInstalled(options.installed, here))) {
    await link(options.installed, join(here, 'node_modules'), options);
    return;
  }
  await execute('sh', ['-c', script], here, options.env);
}

/**
 * Nobody changes a file of a stage in place, so links are copies; another file system needs real ones. Caches of tools
 * that work meanwhile (`.vite`) are no part of an installation.
 */
async function link(from: string, to: string, { folder, env }: ReplayOptions): Promise<void> {
  await mkdir(to, { recursive: true });
  const copy = (how: string) =>
    `find . -mindepth 1 -maxdepth 1 ! -name '.vite*' ! -name .cache -exec cp ${how} -t "$2" {} +`;
  const script = `cd "$1" && { ${copy('-al')} 2>/dev/null || ${copy('-a')}; }`;
  await execute('sh', ['-c', script, 'link', from, to], folder, env);
}

/** What npm notes of an installation is what the lock file says, but for packages that are for other systems. */
async function hasInstalled(installed: string, here: string): Promise<boolean> {
  const packagesOf = async (file: string): Promise<Record<string, { readonly optional?: true }>> => {
    const { '': _root, ...packages } = JSON.parse(await readFile(file, 'utf8')).packages;
    return packages;
  };
  const there = await packagesOf(join(installed, '.package-lock.json'));
  const wanted = Object.entries(await packagesOf(join(here, 'package-lock.json')));
  const names = new Set(wanted.map(([name]) => name));
  return (
    Object.keys(there).every((name) => names.has(name)) &&
    wanted.every(([name, facts]) =>
      there[name] === undefined ? facts.optional === true : isDeepStrictEqual(there[name], facts),
    )
  );
}

/** `A=b C=d` of an ENV instruction; this project quotes no value. */
function variables(args: string): Record<string, string> {
  return Object.fromEntries(args.split(/\s+/).map((pair) => pair.split('=', 2) as [string, string]));
}

function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString('utf8');
      });
    }
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`)),
    );
  });
}

/** Which of these files `.dockerignore` lets into the build context: of the patterns that fit one, the last decides. */
export async function contextFiles(ignoreFile: string, files: readonly string[]): Promise<readonly string[]> {
  const lines = (await readFile(ignoreFile, 'utf8')).split('\n').map((line) => line.trim());
  const patterns = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keeps: line.startsWith('!'), path: line.replace(/^!/, '').replace(/\/$/, '') }));
  const fits = (path: string, file: string) => path === '*' || file === path || file.startsWith(`${path}/`);
  return files.filter((file) => patterns.findLast(({ path }) => fits(path, file))?.keeps ?? true);
}
