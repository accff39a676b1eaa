import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Case, caseOf } from './cases.ts';
import { Client } from './client.ts';
import type { Load, Loaded } from './load.ts';
import { freePort, Started } from './started.ts';
import type { Era, Server, Setting, Start, Target } from './target.ts';
import { targetOf } from './targets.ts';
import { machineBusy, usage } from './usage.ts';

/** What one target did in one case. */
export interface Measured extends Loaded {
  /** MiB when it was ready, before any load. */
  readonly idle: number;
  /** The longest time in ms for which its event loop stood still; undefined for programs of other kinds. */
  readonly pause?: number;
}

export interface MeasureOptions {
  /** s */
  readonly duration: number;
  readonly warmUp: number;
  /** The program of Patchbay that is measured. */
  readonly main: string;
  /** Flags of Node for the target, for profiles. */
  readonly flags?: readonly string[];
}

const ECHO = join(import.meta.dirname, 'echo-server.ts');
const LOAD = join(import.meta.dirname, 'load.ts');
const READY_MS = 60_000;
const TRY_MS = 5_000;
const POLL_MS = 10;
const NO_LOAD = { client: 0, errors: 0 };

/** What `NAME` or `NAME:ERA` stands for. */
export function chosen(name: string): { readonly target: Target; readonly era: Era } {
  const [id = '', wanted] = name.split(':');
  const target = targetOf(id);
  const era = target.eras.find((each) => each === wanted) ?? target.eras[0];
  if (era === undefined || (wanted !== undefined && era !== wanted)) {
    throw new Error(`${id} does not speak ${wanted}`);
  }
  return { target, era };
}

/** What a target is put in front of for a case; undefined where it cannot serve that. */
export function kindFor(name: string, caseName: string): Case['kind'] | undefined {
  const { target } = chosen(name);
  const about = caseOf(caseName);
  const isDirect = name.split(':')[0] === 'direct';
  if (target.skips?.includes(caseName) === true || (about.cold === true && !target.merges && !isDirect)) {
    return undefined;
  }
  if (target.kinds.includes(about.kind) || (about.cold === true && isDirect)) {
    return about.kind;
  }
  return about.kind === 'stdio' ? undefined : target.kinds[0];
}

/** One case on one target, started for it. Rejects with Absent where it cannot be had. */
export async function measure(name: string, caseName: string, options: MeasureOptions): Promise<Measured> {
  await using stack = new AsyncDisposableStack();
  const { target, era } = chosen(name);
  const about = caseOf(caseName);
  const kind = kindFor(name, caseName) ?? about.kind;
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const { servers, pids } = await serversFor(target, { ...about, kind }, stack);
  const { pageSize = 0 } = about;
  const setting = { port: await freePort(), folder, servers, pageSize, main: options.main, stack };
  const start = await target.start(setting);
  const isDirect = start.command.length === 0;
  const othersBefore = cpuOfOthers();
  const began = performance.now();
  const othersSince = () => ((cpuOfOthers() - othersBefore) / (performance.now() - began)) * 1_000;
  if (about.cold === true && isDirect) {
    const took = await slowestOf(servers);
    return coldOf(took, { cpu: 0, idle: 0, others: othersSince() });
  }
  const running = isDirect ? undefined : stack.use(begin(start, folder, options.flags));
  const url = urlFor(start, setting);
  const { headers = {} } = start;
  const connect = () => new Client(url, era, { connections: 2, headers });
  await ready(connect, target.wrapped === undefined ? about.servers * about.tools : 1, running, name);
  const took = performance.now() - began;
  const pid = running?.pid ?? pids[0] ?? 0;
  const { cpu, rss } = usage(pid, 'echo-server.ts');
  if (about.cold === true) {
    return coldOf(took, { cpu: cpu * 1_000, idle: rss, others: othersSince() });
  }
  const load: Load = {
    url,
    era,
    ask: askOf(target, about),
    callers: about.callers,
    warmUp: options.warmUp,
    duration: options.duration,
    headers,
    pid,
    except: 'echo-server.ts',
    ours: isDirect ? pids : [...pids, pid],
  };
  const loaded = await loadedBy(load, stack, () => running?.beginPauses());
  const pause = await running?.longestPause();
  return { ...loaded, idle: rss, ...(pause === undefined ? {} : { pause }) };
}

async function serversFor(
  target: Target,
  { servers: wanted, tools, kind, cold = false, pageSize = 0 }: Case,
  stack: AsyncDisposableStack,
): Promise<{ readonly servers: Readonly<Record<string, Server>>; readonly pids: readonly number[] }> {
  const count = target.merges || cold ? wanted : 1;
  const each = String((wanted * tools) / count);
  const flags = target.structured === true ? ['--structured'] : [];
  const ids = Array.from({ length: count }, (_, at) => `s${at + 1}`);
  if (kind === 'stdio') {
    const command = [process.execPath, ECHO, '--tools', each, ...flags];
    return { servers: Object.fromEntries(ids.map((id) => [id, { command }])), pids: [] };
  }
  const port = await freePort();
  const words = ['--port', String(port), '--tools', each, '--page', String(pageSize), ...flags];
  const server = stack.use(new Started([process.execPath, ECHO, ...words], { heard: true }));
  await new Promise((resolve) => server.child.stdout?.once('data', resolve));
  const servers = ids.map((id) => [id, { url: `http://127.0.0.1:${port}/${id}/mcp` }]);
  return { servers: Object.fromEntries(servers), pids: [server.pid] };
}

function begin(start: Start, folder: string, flags: readonly string[] = []): Started {
  const [file = '', ...words] = start.command;
  const command = file === process.execPath ? [file, ...flags, ...words] : start.command;
  return new Started(command, { folder, env: start.env, probed: flags.length === 0 });
}

function urlFor(start: Start, { port, servers }: Setting): string {
  const [first] = Object.values(servers);
  const isDirect = start.command.length === 0 && first !== undefined && 'url' in first;
  return new URL(start.path, isDirect ? first.url : `http://127.0.0.1:${port}`).href;
}

function askOf({ wrapped, tool }: Target, { bytes, servers, tools }: Case): Load['ask'] {
  if (bytes === undefined) {
    return { list: servers * tools };
  }
  const call = wrapped?.('s1', 'echo') ?? { name: tool('s1', 'echo'), arguments: { text: '@' } };
  return { call: call.name, arguments: call.arguments, bytes };
}

/** Resolves when so many tools are listed. */
export async function ready(
  connect: () => Client,
  least: number,
  running: Started | undefined,
  name: string,
): Promise<void> {
  const until = Date.now() + READY_MS;
  let last = 'no answer';
  while (Date.now() < until && running?.ended !== true) {
    const client = connect();
    try {
      const late = new Promise<never>((_resolve, reject) => {
        setTimeout(() => reject(new Error('no answer')), TRY_MS).unref();
      });
      const { count } = await Promise.race([late, client.open().then((session) => client.tools(session))]);
      if (count >= least) {
        return;
      }
      last = `${count} tools`;
    } catch (thrown) {
      last = thrown instanceof Error ? thrown.message : String(thrown);
    } finally {
      await client.close();
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${name} was not ready: ${running?.ended === true ? 'it has ended' : last}`);
}

/** Runs the load client; `measuring` is called when its warm-up is over. */
export function loadedBy(load: Load, stack: AsyncDisposableStack, measuring: () => void): Promise<Loaded> {
  const { child } = stack.use(new Started([process.execPath, LOAD, JSON.stringify(load)], { heard: true }));
  return new Promise((resolve, reject) => {
    if (child.stdout === null) {
      reject(new Error('the load client cannot be heard'));
      return;
    }
    createInterface({ input: child.stdout }).on('line', (line) =>
      line === 'measuring' ? measuring() : resolve(JSON.parse(line) as Loaded),
    );
    child.once('exit', (code) => reject(new Error(`the load client ended with ${code}`)));
  });
}

/** ms until the last of these servers has listed its tools, all of them started at once by nobody but us. */
async function slowestOf(servers: Readonly<Record<string, Server>>): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const began = performance.now();
  const answered = Object.values(servers).map(async (server) => {
    const command = 'command' in server ? server.command : [];
    const { child } = stack.use(new Started(command, { heard: true, told: true }));
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) {
      throw new Error('a server cannot be spoken to');
    }
    const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    for (const [id, method] of ['initialize', 'tools/list'].entries()) {
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: {} })}\n`);
      await lines.next();
    }
  });
  await Promise.all(answered);
  return performance.now() - began;
}

function coldOf(ms: number, about: Pick<Measured, 'cpu' | 'idle' | 'others'>): Measured {
  return { ...NO_LOAD, ...about, perSecond: 1_000 / ms, p50: ms, p99: ms, worst: ms, rss: about.idle };
}

/** s of processor time, since the machine booted, of whatever this process did not start. */
function cpuOfOthers(): number {
  return machineBusy() - usage(process.pid).cpu;
}
