import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, repositoryFiles, textOf } from '../gates/repository.ts';
import { descendants, untilAllGone, untilGone } from '../kit/processes.ts';
import { connectSdk } from '../kit/sdk-clients.ts';
import { createWaits } from '../kit/waits.ts';
import { contextFiles, createReplay, execForm, type Image, parseDockerfile } from './dockerfile.ts';

const stages = parseDockerfile(textOf('Dockerfile'));
const stepsOf = (name: string) => stages.find((stage) => stage.name === name)?.steps ?? [];
/** The stage that is built when none is named. */
const last = stages.at(-1)?.name ?? '';

/** All steps that make up a stage, those of the stages below it first. */
function wholeOf(name: string): ReturnType<typeof stepsOf> {
  const base = stages.find((stage) => stage.name === name)?.base ?? '';
  return [...(stages.some((stage) => stage.name === base) ? wholeOf(base) : []), ...stepsOf(name)];
}

const finalStages = ['gateway', 'example-server'];

describe('the Dockerfile', () => {
  it('pins its image by version and builds the gateway when no stage is named', () => {
    const images = stages.map(({ base }) => base).filter((base) => !stages.some(({ name }) => name === base));
    expect(images).toEqual(['node:26-slim']);
    expect(last).toBe('gateway');
  });

  it.each(finalStages)('runs %s in exec form as a user who is not root, named by number', (name) => {
    const steps = wholeOf(name);
    expect(steps.findLast((step) => step.name === 'USER')?.args).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    for (const { name: kind, args } of steps) {
      if (kind === 'CMD' || kind === 'ENTRYPOINT') {
        expect(execForm(args), args).toBeDefined();
      }
    }
  });

  it('has a health check', () => {
    const check = stepsOf('gateway').find(({ name }) => name === 'HEALTHCHECK')?.args ?? '';
    expect(check).toMatch(/^--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+ CMD \[/);
    expect(check).toContain('/healthz');
  });

  it('brings no secret, no file from the network and no install script', () => {
    for (const { name, args } of stages.flatMap(({ steps }) => steps)) {
      expect(['ADD', 'ARG']).not.toContain(name);
      expect(`${name} ${args}`).not.toMatch(/ENV .*(?:KEY|TOKEN|SECRET|PASSWORD)/i);
      expect(args).not.toMatch(/^npm (?:ci|install)(?!.*--ignore-scripts)/);
      expect(args).not.toMatch(/curl|wget|apt-get/);
    }
  });
});

interface Service {
  readonly build?: { readonly context: string; readonly target: string };
  readonly image?: string;
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [key: string]: unknown;
}
const compose = parse(textOf('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);

describe('docker-compose.yml', () => {
  it.each(services)('hardens %s and watches its health', (_, service) => {
    expect(service).toMatchObject({
      init: true,
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service['privileged']).toBeUndefined();
    const inherited = wholeOf(service.build?.target ?? '').some(({ name }) => name === 'HEALTHCHECK');
    expect(inherited || service.healthcheck !== undefined).toBe(true);
  });

  it.each(services)(
    'builds %s from a stage that exists, or pins its image, and mounts what exists',
    (_, service) => {
      if (service.build === undefined) {
        expect(service.image).toMatch(/^[\w./-]+:\d+[\w.-]*$/);
      } else {
        expect(service.build.context).toBe('.');
        expect(stages.map(({ name }) => name)).toContain(service.build.target);
      }
      for (const volume of service.volumes ?? []) {
        const [source = '', target] = volume.split(':');
        expect(source.startsWith('./') ? textOf(source.slice(2)) : compose.volumes).toBeTruthy();
        expect(source.startsWith('./') || Object.hasOwn(compose.volumes, source)).toBe(true);
        expect(target).toMatch(/^\//);
      }
      expect(Object.keys(compose.networks)).toEqual(expect.arrayContaining([...service.networks]));
    },
  );

  it('publishes of the cluster the balancer alone, on loopback, and keeps Valkey inside', () => {
    const { replica, balancer, valkey } = compose.services;
    for (const service of [replica, balancer, valkey]) {
      expect(service?.['profiles']).toEqual(['cluster']);
    }
    expect(replica).toMatchObject({ deploy: { replicas: 3 } });
    expect([replica, balancer, valkey].map((each) => each?.ports)).toEqual([
      undefined,
      ['127.0.0.1:3340:8080'],
      undefined,
    ]);
    expect(valkey?.networks).toEqual(['inside']);
    expect(textOf('config/cluster/nginx.conf')).toContain('server replica:3333 ');
    const { state, upstreams } = parse(textOf('config/cluster/gateway.yaml')) as Record<string, unknown>;
    expect(state).toMatchObject({ type: 'redis', url: 'redis://valkey:6379' });
    expect(upstreams).toEqual({ everything: { url: 'http://everything:3001/mcp' } });
  });

  it('publishes the gateway alone, on loopback, and keeps the server inside', () => {
    const { gateway, everything } = compose.services;
    expect(gateway?.ports).toEqual(['127.0.0.1:3333:3333']);
    expect(everything?.ports).toBeUndefined();
    expect(everything?.networks).toEqual(['inside']);
    expect(compose.networks['inside']?.internal).toBe(true);
    expect(parse(textOf('config/compose.yaml'))).toMatchObject({
      upstreams: { everything: { url: 'http://everything:3001/mcp' } },
    });
  });
});

/** A command of an image, run as its user on its files alone. */
function launch(image: Image, words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const [command = '', ...args] = words;
  const [uid, gid] = image.user.split(':').map(Number);
  const inside = Object.entries(image.env).map(([name, value]) => [
    name,
    value.startsWith('/') ? join(image.root, value) : value,
  ]);
  return spawn(command === 'node' ? process.execPath : command, args, {
    cwd: join(image.root, image.workdir),
    env: { PATH: process.env['PATH'], ...Object.fromEntries(inside), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
  });
}

/** Resolves with the first group of what matches in what the process says. */
async function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  const waits = createWaits();
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      waits.check();
    });
  }
  child.once('exit', (code) => waits.fail(new Error(`ended with ${code}: ${text}`)));
  return waits.until(
    () => pattern.exec(text)?.[1],
    () => `never said ${pattern}: ${text}`,
    30_000,
  );
}

const exitOf = (child: ChildProcess) => new Promise<number | null>((resolve) => child.once('exit', resolve));

describe('what the Dockerfile makes', () => {
  let folder = '';
  let gateway: Image;
  let example: Image;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'patchbay-image-'));
    await chmod(folder, 0o755);
    const build = createReplay({
      stages,
      context: ROOT,
      files: await contextFiles(join(ROOT, '.dockerignore'), repositoryFiles()),
      folder,
      installed: join(ROOT, 'node_modules'),
      env: {
        ...process.env,
        // The Node of the tests stands for that of the image. What was installed once is not fetched again.
        PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
        NODE_OPTIONS: '',
        npm_config_prefer_offline: 'true',
        npm_config_audit: 'false',
        npm_config_update_notifier: 'false',
      },
    });
    [gateway, example] = await Promise.all([build('gateway'), build('example-server')]);
  }, 300_000);

  // Tens of thousands of files, each of which would be a promise of its own.
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('holds what runs and nothing else', async () => {
    const app = join(gateway.root, gateway.workdir);
    const inside = ['LICENSE', 'dist', 'package-lock.json', 'package.json'];
    expect((await readdir(app)).toSorted()).toEqual(inside);
    const built = await readdir(join(app, 'dist'));
    const always = ['LICENSES.txt', 'main.js', 'main.js.map', 'ui.js'];
    expect(built).toEqual(expect.arrayContaining(always));
    const parts = built.filter((file) => !always.includes(file));
    expect(parts).not.toEqual([]);
    expect(parts.filter((file) => !/^part-[\w-]+\.js(\.map)?$/.test(file))).toEqual([]);
  });

  it('keeps its state where only its own user can look', async () => {
    const { mode } = await stat(join(gateway.root, 'var/lib/patchbay'));
    expect(mode & 0o777).toBe(0o700);
  });

  it('serves a tool of the example server as that user, is healthy, and ends when told', async () => {
    const preload = `--import=${join(ROOT, 'test/kit/loopback-preload.mjs')}`;
    const server = launch(example, example.command, { PORT: '0', NODE_OPTIONS: preload });
    const started: ChildProcess[] = [server];
    try {
      const upstream = await said(server, /LISTENING (\d+)/);
      const config = textOf('config/compose.yaml').replace('everything:3001', `127.0.0.1:${upstream}`);
      await mkdir(join(gateway.root, 'etc/patchbay'), { recursive: true });
      await writeFile(join(gateway.root, 'etc/patchbay/gateway.yaml'), config);

      const words = [...gateway.entrypoint, ...gateway.command, '--json'];
      const running = launch(gateway, words, { PATCHBAY_HOST: '127.0.0.1', PATCHBAY_PORT: '0' });
      started.push(running);
      const { url, status } = JSON.parse(await said(running, /^(\{"url".*\})$/m));
      expect(status).toBe('ready');

      await using client = await connectSdk('v2-auto', { url });
      const answer = await client.callTool('everything.echo', { message: 'from the image' });
      expect(answer['content']).toEqual([{ type: 'text', text: 'Echo: from the image' }]);

      const key = await stat(join(gateway.root, 'var/lib/patchbay/sealing.key'));
      expect(key.mode & 0o777).toBe(0o600);
      expect(key.uid).toBe(
        process.getuid?.() === 0 ? Number(gateway.user.split(':')[0]) : process.getuid?.(),
      );

      const { port } = new URL(url);
      const check = (at: string) => exitOf(launch(gateway, gateway.healthcheck, { PATCHBAY_PORT: at }));
      expect(await check(port)).toBe(0);

      const below = descendants(running.pid ?? 0);
      const ended = exitOf(running);
      running.kill('SIGTERM');
      expect(await ended).toBe(0);
      await untilAllGone(below);
      expect(await check(port)).toBe(1);
    } finally {
      for (const child of started) {
        child.kill('SIGKILL');
        await untilGone(child.pid ?? 0);
      }
    }
  }, 60_000);
});
