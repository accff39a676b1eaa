import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { parse } from 'yaml';
import { textOf } from '../gates/repository.ts';
import { compileCache } from '../kit/compile-cache.ts';
import { type FaultProxy, refusingPort, startFaultProxy } from '../kit/faults.ts';
import { MAIN } from '../kit/program.ts';
import { balancing } from './balancing.ts';
import { type Program, startNginx, startRedis } from './programs.ts';

/** One replica: a process of the program as it is shipped, which keeps its port through restarts. */
export interface Replica extends AsyncDisposable {
  readonly port: number;
  /** What it logged since its last start. */
  readonly log: string;
  start(): Promise<void>;
  /** Resolves when the process is gone. */
  stop(signal: NodeJS.Signals): Promise<void>;
  /** What it says of itself at /readyz. */
  state(): Promise<{
    readonly code: number;
    readonly status?: string;
    readonly state?: { readonly status: string };
  }>;
}

export interface Cluster extends AsyncDisposable {
  /** Through the balancer: each request to the next replica, whatever session it is of. */
  readonly url: string;
  readonly replicas: readonly Replica[];
  readonly redis: Program;
  /** Between the last replica and Redis. */
  readonly link: FaultProxy;
  /** Tells the balancer which replicas it may use. */
  balance(over: readonly Replica[]): Promise<void>;
}

/**
 * What docker-compose.yml starts under the profile `cluster`, as processes: replicas by config/cluster/gateway.yaml, with
 * these sections in the place of its own, a Redis server that keeps what it has and wants a password, and nginx by
 * config/cluster/nginx.conf.
 */
export async function startCluster(count: number, sections: object): Promise<Cluster> {
  await using scope = new AsyncDisposableStack();
  const password = randomBytes(16).toString('hex');
  const redis = scope.use(await startRedis({ keeps: true, password }));
  const link = scope.use(await startFaultProxy(redis.port));
  const shipped = parse(textOf('config/cluster/gateway.yaml')) as { readonly state: object };
  const env = {
    PATCHBAY_SEALING_KEY: randomBytes(32).toString('base64'),
    PATCHBAY_STATE_PASSWORD: password,
  };
  const replicas = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const url = `redis://127.0.0.1:${at === count - 1 ? link.port : redis.port}`;
      const config = { ...shipped, state: { ...shipped.state, url }, ...sections };
      const replica = await createReplica(config, env);
      scope.use(replica);
      await replica.start();
      return replica;
    }),
  );
  const nginx = scope.use(await startNginx((port) => balancing(port, replicas, replicas)));
  const all = scope.move();
  return {
    url: `http://127.0.0.1:${nginx.port}/mcp`,
    replicas,
    redis,
    link,
    balance: (over) => nginx.configure((port) => balancing(port, replicas, over)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function createReplica(config: object, env: Readonly<Record<string, string>>): Promise<Replica> {
  const port = await refusingPort();
  let child: ChildProcess | undefined;
  let gone: Promise<unknown> = Promise.resolve();
  let log = '';
  const folder = await mkdtemp(join(tmpdir(), 'patchbay-replica-'));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, JSON.stringify(config)); // JSON is YAML
  const state = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
      headers: { authorization: 'Bearer key-of-ops' },
    }).catch(() => undefined);
    const said = answer === undefined ? {} : ((await answer.json()) as object);
    return { ...said, code: answer?.status ?? 0 };
  };
  return {
    port,
    get log() {
      return log;
    },
    state,
    async start() {
      log = '';
      const args = [MAIN, 'serve', '--log-level', 'info', '--no-watch', '-c', file, '--port', String(port)];
      const running = spawn(process.execPath, args, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ...compileCache, ...env, XDG_STATE_HOME: folder },
      });
      running.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
      child = running;
      gone = new Promise((resolve) => running.once('close', resolve));
      await vi.waitFor(async () => expect((await state()).code, log).toBe(200), {
        timeout: 30_000,
        interval: 50,
      });
    },
    async stop(signal) {
      child?.kill(signal);
      await gone;
    },
    async [Symbol.asyncDispose]() {
      child?.kill('SIGKILL');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
