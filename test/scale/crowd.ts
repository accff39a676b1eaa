import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { toolDefinitions } from '../bench/tools.ts';
import { usage } from '../bench/usage.ts';
import { type GatewayProcess, startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { Hall, keyOf } from './hall.ts';

/** What a crowd cost, and whether all of it was told. Bytes of the gateway's process, after a garbage collection. */
export interface Crowded {
  /** For one legacy session that was opened and then used. */
  readonly session: Cost;
  /** For one idle `subscriptions/listen`. */
  readonly listen: Cost;
  /** For one idle stream of a legacy session (GET). */
  readonly stream: Cost;
  readonly listeners: number;
  /** One after the other; the first runs code that has hardly run before. */
  readonly changes: readonly Told[];
}

/** How one change came to the listeners. */
export interface Told {
  /** Those that heard of it. */
  readonly told: number;
  /** ms from the upstream's notice until the first and the last of them was told, debounce included. */
  readonly first: number;
  readonly last: number;
  /** s of the gateway's processor time until then. */
  readonly cpu: number;
}

export interface Cost {
  /** Of the JavaScript heap and of what hangs on it. */
  readonly heap: number;
  /** Of resident memory: with what the system's own libraries hold for a connection. */
  readonly rss: number;
}

export interface CrowdOptions {
  readonly sessions: number;
  readonly listens: number;
  /** Of the sessions, one each. */
  readonly streams: number;
  readonly tools: number;
  /** Users with rules of their own, among whom the listeners are shared out. */
  readonly users: number;
  readonly changes?: number;
  /** Another build of the program than the one that the tests are run with. */
  readonly main?: string;
}

interface Held {
  readonly rss: number;
  readonly heap: number;
}

const PROBE = new URL('../soak/probe.mjs', import.meta.url).href;
const AT_ONCE = 32;

/** A client is told of one thing twice a second at most (src/changes/pacer.ts). */
const PACE_MS = 1_000;

/** Sessions, then listeners of both eras, then changes of a long list that everybody is to hear of. */
export async function crowd(options: CrowdOptions): Promise<Crowded> {
  const { sessions, listens, streams, tools, users, changes = 1, main } = options;
  await using stack = new AsyncDisposableStack();
  const definitions = toolDefinitions(tools);
  const upstream = stack.use(
    await startHttpUpstream({
      id: 'big',
      tools: definitions,
      hints: { ttlMs: 60_000, cacheScope: 'public' },
    }),
  );
  const gateway = stack.use(
    await startGatewayProcess(
      {
        sessions: { max: sessions + 1 },
        streams: { max: listens + streams + 1 },
        limits: { connections: listens + streams + 2 * AT_ONCE },
        upstreams: { big: upstream.config },
        ...rulesFor(users),
      },
      { preload: [PROBE], channel: true, ...(main === undefined ? {} : { main }) },
    ),
  );
  const hall = new Hall(gateway.url, AT_ONCE);
  stack.defer(() => hall.leave());
  await upstream.untilListening();
  // What is made once, whoever asks, is not counted.
  for (let user = 0; user < users; user += 1) {
    await hall.listTools(user);
  }
  await hall.session(0);
  await hall.listen(0);

  const empty = await heldBy(gateway);
  const ids = await inTurn(sessions, (at) => hall.session(at % users));
  const withSessions = await heldBy(gateway);
  await inTurn(listens, (at) => hall.listen(at % users));
  const withListens = await heldBy(gateway);
  await inTurn(streams, (at) => hall.stream(ids[at] ?? '', at % users));
  const withStreams = await heldBy(gateway);

  const told: Told[] = [];
  while (told.length < changes) {
    if (told.length > 0) {
      await setTimeout(PACE_MS);
      hall.again();
    }
    const before = usage(gateway.child.pid ?? 0).cpu;
    await upstream.setTools([...definitions.slice(1), { ...definitions[0], name: `novelty_${told.length}` }]);
    const began = performance.now();
    await upstream.notify('tools');
    await hall.untilAllTold();
    const cpu = usage(gateway.child.pid ?? 0).cpu - before;
    told.push({ told: hall.told, first: hall.firstAt - began, last: hall.lastAt - began, cpu });
    for (let user = 0; user < users; user += 1) {
      await hall.listTools(user);
    }
  }
  return {
    session: costOf(empty, withSessions, sessions),
    listen: costOf(withSessions, withListens, listens),
    stream: costOf(withListens, withStreams, streams),
    listeners: hall.size,
    changes: told,
  };
}

/** Everybody is in a group with a rule of its own, by which all but one tool of a number may be seen. */
function rulesFor(users: number): object {
  const each = Array.from({ length: users }, (_, at) => at);
  return {
    auth: {
      mode: 'keys',
      keys: each.map((at) => ({
        id: `user-${at}`,
        sha256: createHash('sha256').update(keyOf(at)).digest('hex'),
        groups: [`group-${at}`],
      })),
    },
    access: each.map((at) => ({
      who: { groups: [`group-${at}`] },
      allow: ['big.*'],
      deny: [`big.find_orders_${at + 1}`],
    })),
  };
}

/** So many, a few at once; resolves with what each resolved with. */
async function inTurn<T>(count: number, begin: (at: number) => Promise<T>): Promise<readonly T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) {
      done[at] = await begin(at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return done;
}

function heldBy({ child }: GatewayProcess): Promise<Held> {
  return new Promise((resolve, reject) => {
    child.once('message', (held) => resolve(held as Held));
    child.send('look', (error) => error && reject(error));
  });
}

function costOf(before: Held, after: Held, count: number): Cost {
  const each = (key: keyof Held) => Math.round((after[key] - before[key]) / count);
  return count === 0 ? { heap: 0, rss: 0 } : { heap: each('heap'), rss: each('rss') };
}
