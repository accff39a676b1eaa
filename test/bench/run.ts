import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { Load, Measured } from './load.ts';
import { type Setting, TARGETS, type Target } from './targets.ts';

/** Measures targets side by side on this machine, over loopback; see docs/performance.md. */
const USAGE = `npm run bench -- [options]      builds nothing: run "npm run build" first

  --targets LIST     ${Object.keys(TARGETS).join(',')}; NAME:legacy for the initialize era (default: all)
  --scenarios LIST   c1,c16,c64,c256,10k,1m,list,list2000,stdio,cold (default: all but stdio, cold)
  --rounds N         rounds, each with every target started anew (default 3)
  --duration S       measured seconds of each run (default 4)
  --warm-up S        seconds before it (default 1.5)
  --quiet CORES      a run is repeated while other processes use more than this (default 0.3)
  --check            fail where a ratio is worse than that in levels.json by more than 10 %
  --write            write levels.json from this run
  --json             print what was measured as JSON
`;

interface Scenario {
  readonly servers: number;
  readonly tools: number;
  readonly kind: 'http' | 'stdio';
  readonly callers: number;
  /** Bytes of the echo; undefined for a list. */
  readonly bytes?: number;
}

const call = (callers: number, bytes = 100, kind: 'http' | 'stdio' = 'http'): Scenario => ({
  servers: 1,
  tools: 20,
  kind,
  callers,
  bytes,
});

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  c1: call(1),
  c16: call(16),
  c64: call(64),
  c256: call(256),
  '10k': call(16, 10_000),
  '1m': call(4, 1_000_000),
  list: { servers: 20, tools: 20, kind: 'http', callers: 4 },
  list2000: { servers: 20, tools: 100, kind: 'http', callers: 4 },
  stdio: call(16, 100, 'stdio'),
  cold: { servers: 20, tools: 20, kind: 'stdio', callers: 1 },
};

/** Ratios to `bare` in the same round, by scenario and target. */
type Ratios = Record<string, Record<string, { perSecond: number; cpu: number }>>;

interface Sample {
  readonly scenario: string;
  readonly target: string;
  readonly round: number;
  readonly measured: Measured;
}

const ECHO = join(import.meta.dirname, 'echo-server.ts');
const LEVELS = join(import.meta.dirname, 'levels.json');
const RETRIES = 3;
const TOLERANCE = 0.1;
const READY_MS = 30_000;

const { values } = parseArgs({
  options: {
    targets: { type: 'string' },
    scenarios: { type: 'string', default: 'c1,c16,c64,c256,10k,1m,list,list2000' },
    rounds: { type: 'string', default: '3' },
    duration: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '1.5' },
    quiet: { type: 'string', default: '0.3' },
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

class Started implements AsyncDisposable {
  readonly child: ChildProcess;
  constructor(command: readonly string[], quiet: boolean) {
    const [file = '', ...args] = command;
    this.child = spawn(file, args, { stdio: ['ignore', quiet ? 'ignore' : 'pipe', 'inherit'] });
  }
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGTERM');
      await ended;
    }
  }
}

/** Resolves with what `probe` answers as soon as it does. */
async function whenReady<T>(probe: () => Promise<T | undefined>, what: string): Promise<T> {
  const until = Date.now() + READY_MS;
  while (Date.now() < until) {
    const answer = await probe().catch(() => undefined);
    if (answer !== undefined) {
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} is not ready after ${READY_MS} ms`);
}

/** The number of tools that are listed, all pages. */
async function countTools(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const version = '2026-07-28';
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/list',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const { result } = (await answer.json()) as { result?: { tools?: unknown[] } };
  return result?.tools?.length ?? 0;
}

async function settingFor(
  target: Target,
  scenario: Scenario,
  stack: AsyncDisposableStack,
): Promise<{ setting: Setting; pids: readonly number[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const count = target.merges ? scenario.servers : 1;
  const tools = String((scenario.servers * scenario.tools) / count);
  const ids = Array.from({ length: count }, (_, at) => `s${at + 1}`);
  const port = await freePort();
  if (scenario.kind === 'stdio') {
    const command = [process.execPath, ECHO, '--tools', tools];
    const servers = Object.fromEntries(ids.map((id) => [id, { command }]));
    return { setting: { port, folder, servers }, pids: [] };
  }
  const behind = await freePort();
  const server = stack.use(
    new Started([process.execPath, ECHO, '--port', String(behind), '--tools', tools], false),
  );
  await new Promise((resolve) => server.child.stdout?.once('data', resolve));
  const servers = ids.map((id) => [id, { url: `http://127.0.0.1:${behind}/${id}/mcp` }]);
  const setting = { port, folder, servers: Object.fromEntries(servers) };
  return { setting, pids: server.child.pid === undefined ? [] : [server.child.pid] };
}

/** One scenario on one target, started for it. Undefined where it cannot serve it. */
async function once(name: string, scenario: Scenario, cold: boolean): Promise<Measured | undefined> {
  const [id = '', era = 'modern'] = name.split(':');
  const target = TARGETS[id];
  if (target === undefined) {
    throw new Error(`no target ${id}: there are ${Object.keys(TARGETS).join(', ')}`);
  }
  const fits = target.kinds.includes(scenario.kind) && target.eras.some((each) => each === era);
  if (!fits || (cold && !target.merges)) {
    return undefined;
  }
  await using stack = new AsyncDisposableStack();
  const { setting, pids } = await settingFor(target, scenario, stack);
  const start = target.start(setting);
  if (start === undefined) {
    return undefined;
  }
  const began = performance.now();
  const direct = start.command.length === 0;
  const running = direct ? undefined : stack.use(new Started(start.command, true));
  const [server] = Object.values(setting.servers);
  const base =
    direct && server !== undefined && 'url' in server ? server.url : `http://127.0.0.1:${setting.port}`;
  const url = new URL(start.path, base).href;
  const expected = scenario.servers * scenario.tools;
  const { headers = {} } = start;
  await whenReady(
    async () => ((await countTools(url, headers)) === expected ? true : undefined),
    `${name} with ${expected} tools`,
  );
  const took = performance.now() - began;
  if (cold) {
    const none = { perSecond: 0, cpu: 0, rss: 0, errors: 0, others: 0 };
    return { ...none, p50: took, p99: took, worst: took };
  }
  const pid = running?.child.pid ?? process.pid;
  const load: Load = {
    url,
    era: era === 'legacy' ? 'legacy' : 'modern',
    ask:
      scenario.bytes === undefined
        ? { list: expected }
        : { call: target.tool('s1', 'echo'), bytes: scenario.bytes },
    callers: scenario.callers,
    warmUp: Number(values['warm-up']),
    duration: Number(values.duration),
    headers,
    pid,
    except: 'echo-server.ts',
    ours: direct ? pids : [...pids, pid],
  };
  const client = stack.use(
    new Started([process.execPath, join(import.meta.dirname, 'load.ts'), JSON.stringify(load)], false),
  );
  const printed = client.child.stdout === null ? '' : await text(client.child.stdout);
  return JSON.parse(printed) as Measured;
}

/** Once more while other processes take too much of the machine; the quietest try counts. */
async function quietly(name: string, scenario: Scenario, cold: boolean): Promise<Measured | undefined> {
  let best: Measured | undefined;
  for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
    const measured = await once(name, scenario, cold);
    if (measured === undefined) {
      return undefined;
    }
    best = best === undefined || measured.others < best.others ? measured : best;
    if (cold || best.others < Number(values.quiet)) {
      break;
    }
  }
  return best;
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The floor of a target is the proxy that looks at nothing, in the same era. */
function floorOf(target: string): string {
  return target.endsWith(':legacy') ? 'bare:legacy' : 'bare';
}

function ratiosOf(samples: readonly Sample[]): Ratios {
  const ratios: Ratios = {};
  for (const { scenario, target } of samples.filter(({ round }) => round === 0)) {
    const rounds = samples.filter((each) => each.scenario === scenario && each.target === target);
    const pairs = rounds.flatMap(({ round, measured }) => {
      const floor = samples.find(
        (each) => each.scenario === scenario && each.round === round && each.target === floorOf(target),
      )?.measured;
      return floor === undefined || floor.perSecond === 0
        ? []
        : [{ perSecond: measured.perSecond / floor.perSecond, cpu: measured.cpu / floor.cpu }];
    });
    if (pairs.length > 0) {
      ratios[scenario] = {
        ...ratios[scenario],
        [target]: {
          perSecond: round(median(pairs.map(({ perSecond }) => perSecond))),
          cpu: round(median(pairs.map(({ cpu }) => cpu))),
        },
      };
    }
  }
  return ratios;
}

const round = (value: number) => Math.round(value * 100) / 100;

function table(samples: readonly Sample[], ratios: Ratios): string {
  const rows = samples
    .filter((sample) => sample.round === 0)
    .map(({ scenario, target }) => {
      const all = samples.filter((each) => each.scenario === scenario && each.target === target);
      const mid = (key: keyof Omit<Measured, 'firstError'>) =>
        median(all.map(({ measured }) => measured[key]));
      const ratio = ratios[scenario]?.[target];
      const cells = [
        scenario,
        target,
        mid('perSecond').toFixed(0),
        ratio?.perSecond.toFixed(2) ?? '',
        mid('p50').toFixed(2),
        mid('p99').toFixed(2),
        mid('cpu').toFixed(3),
        ratio?.cpu.toFixed(2) ?? '',
        mid('rss').toFixed(0),
        String(all.reduce((sum, { measured }) => sum + measured.errors, 0)),
        mid('others').toFixed(2),
      ];
      return `| ${cells.join(' | ')} |`;
    });
  return [
    '| scenario | target | req/s | × bare | p50 ms | p99 ms | CPU ms a request | × bare | RSS MiB | errors | others, cores |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

/** What is worse than the committed level by more than the tolerance. CPU is the steadier judge: both have to be worse. */
function regressions(ratios: Ratios, levels: Ratios): readonly string[] {
  return Object.entries(levels).flatMap(([scenario, targets]) =>
    Object.entries(targets).flatMap(([target, level]) => {
      const now = ratios[scenario]?.[target];
      const slower = now !== undefined && now.perSecond < level.perSecond * (1 - TOLERANCE);
      const dearer = now !== undefined && now.cpu > level.cpu * (1 + TOLERANCE);
      return slower && dearer
        ? [
            `${scenario} ${target}: ${now.perSecond} × bare at ${now.cpu} × its CPU; was ${level.perSecond} at ${level.cpu}`,
          ]
        : [];
    }),
  );
}

async function main(): Promise<number> {
  const everything = Object.entries(TARGETS).flatMap(([id, { eras }]) =>
    eras.map((era) => (era === 'modern' ? id : `${id}:${era}`)),
  );
  const targets = values.targets?.split(',') ?? everything;
  const scenarios = values.scenarios.split(',');
  const samples: Sample[] = [];
  for (let at = 0; at < Number(values.rounds); at += 1) {
    for (const scenario of scenarios) {
      const about = SCENARIOS[scenario];
      if (about === undefined) {
        throw new Error(`no scenario ${scenario}: there are ${Object.keys(SCENARIOS).join(', ')}`);
      }
      for (const target of at % 2 === 0 ? targets : targets.toReversed()) {
        const measured = await quietly(target, about, scenario === 'cold');
        if (measured !== undefined) {
          samples.push({ scenario, target, round: at, measured });
          process.stderr.write(
            `round ${at + 1} ${scenario} ${target}: ${measured.perSecond.toFixed(0)} req/s, ${measured.cpu.toFixed(3)} ms, p50 ${measured.p50.toFixed(2)} ms` +
              `${measured.errors > 0 ? `, ${measured.errors} errors: ${measured.firstError}` : ''}\n`,
          );
        }
      }
    }
  }
  const ratios = ratiosOf(samples);
  process.stdout.write(values.json ? `${JSON.stringify({ samples, ratios })}\n` : table(samples, ratios));
  if (values.write) {
    writeFileSync(LEVELS, `${JSON.stringify(ratios, null, 2)}\n`);
  }
  const worse = values.check ? regressions(ratios, JSON.parse(readFileSync(LEVELS, 'utf8')) as Ratios) : [];
  process.stderr.write(worse.map((line) => `worse: ${line}\n`).join(''));
  return worse.length > 0 || samples.some(({ measured }) => measured.errors > 0) ? 1 : 0;
}

if (values.help) {
  process.stdout.write(USAGE);
} else {
  process.exitCode = await main();
}
