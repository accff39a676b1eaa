import { setTimeout as pause } from 'node:timers/promises';
import type { Agent, NoticeStream } from '../kit/agent.ts';
import { type GatewayProcess, startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

/** What the gateway's process holds at one moment, after a garbage collection. */
export interface Held {
  /** Bytes. */
  readonly rss: number;
  /** Bytes of the JavaScript heap and of what hangs on it. */
  readonly heap: number;
  /** ms by which the event loop was late, since the last look. */
  readonly loopP99: number;
  /** Sockets, pipes and processes that are open. */
  readonly open: number;
}

export interface Soaked {
  /** After the warm-up with nobody there, and at the end with nobody there. */
  readonly before: Held;
  readonly after: Held;
  /** Under load, looked at now and then. */
  readonly underLoad: readonly Held[];
  readonly calls: number;
  /** Calls that failed while their server was being restarted. */
  readonly failed: number;
  readonly sessions: number;
  readonly streams: number;
  readonly restarts: number;
  /** What nobody expected, in words. */
  readonly wrong: readonly string[];
}

export interface SoakOptions {
  readonly seconds: number;
  /** Legacy sessions that are opened and dropped, in all. */
  readonly sessions: number;
  /** Streams that are open at once; each is replaced after a while. */
  readonly listeners: number;
  readonly progress?: (text: string) => void;
}

const PROBE = new URL('./probe.mjs', import.meta.url).href;
const LOOKS = 8;
/** ms between the calls of one caller: steady, not as fast as can be. */
const CADENCE = 20;
const RESTART_EVERY = 4_000;

/** Steady calls of both eras, sessions that come and go, streams that come and go, servers that restart. */
export async function soak(options: SoakOptions): Promise<Soaked> {
  await using stack = new AsyncDisposableStack();
  const tools = ['echo', 'grow'];
  const old = stack.use(await startHttpUpstream({ id: 'old', era: 'legacy', tools }));
  const fresh = stack.use(await startHttpUpstream({ id: 'fresh', era: 'modern', tools }));
  const pipe = stack.use(await startStdioUpstream({ id: 'pipe', tools }));
  const hasty = { restart: { base: '50ms', cap: '500ms' }, timeouts: { call: '5s', connect: '5s' } };
  const gateway = stack.use(
    await startGatewayProcess(
      {
        // Sessions that were only dropped give their memory back within the run.
        sessions: { idle: '2s' },
        streams: { resumeFor: '2s' },
        upstreams: {
          old: { ...old.config, ...hasty },
          fresh: { ...fresh.config, ...hasty },
          pipe: { ...pipe.config, ...hasty },
        },
      },
      { preload: [PROBE], channel: true },
    ),
  );
  const counts = { calls: 0, failed: 0, sessions: 0, streams: 0, restarts: 0 };
  const wrong: string[] = [];
  const names = ['old.echo', 'fresh.echo', 'pipe.echo'];

  const callOnce = async (agent: Agent, at: number) => {
    const mark = `${agent.era} ${at}`;
    const { result, structured } = await agent.call(names[at % names.length] ?? '', { mark });
    counts.calls += 1;
    if (result['isError'] === true) {
      counts.failed += 1;
    } else if (structured['mark'] !== mark) {
      wrong.push(`not its answer: ${JSON.stringify(result).slice(0, 200)}`);
    }
  };

  const phase = async (seconds: number, sessions: number, looks: number): Promise<readonly Held[]> => {
    const until = Date.now() + seconds * 1_000;
    const going = () => Date.now() < until && !gateway.ended;
    const steady = async (connect: typeof connectLegacy) => {
      await using agent = await connect(gateway.url);
      for (let at = 0; going(); at += 1) {
        await callOnce(agent, at);
        await pause(CADENCE);
      }
    };
    const visitors = async (share: number) => {
      for (let at = 0; at < share && going(); at += 1) {
        {
          await using agent = await connectLegacy(gateway.url);
          counts.sessions += 1;
          await callOnce(agent, at);
          if (at % 2 === 0) {
            await agent.http('DELETE').done; // the others are never heard of again
          }
        }
        await pause(Math.max(0, ((until - Date.now()) / Math.max(1, share - at)) * 0.9));
      }
    };
    const listeners = async (share: number, connect: typeof connectLegacy) => {
      await using agent = await connect(gateway.url);
      const open: NoticeStream[] = [];
      while (going()) {
        if (open.length < share) {
          open.push(await agent.listen());
          counts.streams += 1;
        } else {
          await open.shift()?.close();
          await pause(200);
        }
      }
      await Promise.all(open.map((stream) => stream.close()));
    };
    const restarts = async () => {
      for (let turn = 0; going(); turn += 1) {
        await pause(Math.min(RESTART_EVERY, Math.max(0, until - Date.now())));
        if (!going()) {
          break;
        }
        counts.restarts += 1;
        await [() => old.restart(), () => pipe.kill(), () => fresh.restart()][turn % 3]?.();
        await fresh.setTools([...tools, `turn-${turn}`]);
        await fresh.notify('tools');
      }
    };
    const looking = async () => {
      const held: Held[] = [];
      for (let at = 0; at < looks && going(); at += 1) {
        await pause((seconds * 1_000) / (looks + 1));
        held.push(await heldBy(gateway));
        options.progress?.(describe(held.at(-1), counts));
      }
      return held;
    };
    // A legacy session has one stream of notices; a modern client may have many.
    const legacyListeners = Array.from({ length: Math.min(20, options.listeners) }, () =>
      listeners(1, connectLegacy),
    );
    const [held] = await Promise.all([
      looking(),
      restarts(),
      steady(connectLegacy),
      steady(connectModern),
      ...Array.from({ length: 4 }, () => visitors(Math.ceil(sessions / 4))),
      ...legacyListeners,
      listeners(Math.max(1, options.listeners - legacyListeners.length), connectModern),
    ]);
    return held;
  };

  /** With nobody there, and what was dropped swept out. */
  const rested = async () => {
    await pause(3_000);
    return heldBy(gateway);
  };

  await phase(options.seconds * 0.25, options.sessions * 0.25, 0);
  const before = await rested();
  options.progress?.(`after the warm-up: ${describe(before, counts)}`);
  const underLoad = await phase(options.seconds * 0.75, options.sessions * 0.75, LOOKS);
  const after = await rested();
  options.progress?.(`at the end: ${describe(after, counts)}`);
  if (gateway.ended) {
    wrong.push('the gateway ended');
  }
  return { before, after, underLoad, ...counts, wrong };
}

function heldBy({ child }: GatewayProcess): Promise<Held> {
  return new Promise((resolve, reject) => {
    child.once('message', (held) => resolve(held as Held));
    child.send('look', (error) => error && reject(error));
  });
}

function describe(held: Held | undefined, counts: object): string {
  if (held === undefined) {
    return '';
  }
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const { rss, heap, loopP99, open } = held;
  return `RSS ${mib(rss)}, heap ${mib(heap)}, event loop p99 ${loopP99.toFixed(1)} ms, ${open} open; ${JSON.stringify(counts)}`;
}
