import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { createLog } from '../../src/base/log.ts';
import { createSealer } from '../../src/base/sealed.ts';
import { parseSettings } from '../../src/config/load.ts';
import { createRedisState } from '../../src/state/redis-state.ts';
import { sharedTokens } from '../../src/state/shared-tokens.ts';
import { startRedis } from '../cluster/programs.ts';
import { type GatewayProcess, startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { Hall, keyOf } from '../scale/hall.ts';
import { writeSection } from './document.ts';
import type { Options } from './options.ts';
import { freePort, Started } from './started.ts';

/** What one more of something holds, for docs/cluster.md: what grows with users, servers and tools. */

interface Held {
  /** Bytes of the JavaScript heap, and of what hangs on it. */
  readonly heap: number;
  /** Bytes of resident memory. */
  readonly rss: number;
}

type Row = readonly [what: string, heap: string, rss: string];

const PROBE = new URL('../soak/probe.mjs', import.meta.url).href;
const ECHO = join(import.meta.dirname, 'echo-server.ts');
const AT_ONCE = 32;
const SERVERS = 1_000;
const USERS = 1_000;
const OWN_TOOLS = 20;
const DAY_MS = 86_400_000;

export async function growth({ count, main, json, write }: Options): Promise<number> {
  const rows: readonly Row[] = [
    await tools(count, main),
    await servers(main),
    await users(main, 'a user who has listed, where all see the same', {}),
    await users(main, `a user who has listed ${OWN_TOOLS} tools of one's own from one server`, {
      credentials: { type: 'userHeader', name: 'X-User' },
    }),
    ...(await entries(count)),
  ];
  const table = [
    '| one more | heap, or in Redis | resident |',
    '| --- | --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
  process.stdout.write(json ? `${JSON.stringify(rows)}\n` : `${table}\n`);
  if (write) {
    writeSection('growth', `${count} tools and entries, ${SERVERS} servers, ${USERS} users`, table);
  }
  return 0;
}

const bytes = (value: number) =>
  value < 10_000 ? `${Math.round(value / 10) * 10} B` : `${(value / 1_024).toFixed(1)} KiB`;

function rowOf(what: string, before: Held, after: Held, count: number): Row {
  return [what, bytes((after.heap - before.heap) / count), bytes((after.rss - before.rss) / count)];
}

function gateway(config: object, main: string): Promise<GatewayProcess> {
  return startGatewayProcess(config, { main, preload: [PROBE], channel: true, patience: 300_000 });
}

/** What it holds after a garbage collection. */
function heldBy({ child }: GatewayProcess): Promise<Held> {
  return new Promise((resolve, reject) => {
    child.once('message', (held) => resolve(held as Held));
    child.send('look', (error) => error && reject(error));
  });
}

/** A tool of about 1 KB in the shared catalog, listed once in each era. */
async function tools(count: number, main: string): Promise<Row> {
  const held = async (number: number) => {
    await using stack = new AsyncDisposableStack();
    const port = await freePort();
    const words = ['--port', String(port), '--tools', String(number), '--page', '500'];
    const server = stack.use(new Started([process.execPath, ECHO, ...words], { heard: true }));
    await new Promise((resolve) => server.child.stdout?.once('data', resolve));
    const url = `http://127.0.0.1:${port}/s1/mcp`;
    const running = stack.use(await gateway({ ...signedIn(1), upstreams: { s1: { url } } }, main));
    const hall = new Hall(running.url, AT_ONCE);
    stack.defer(() => hall.leave());
    await hall.listTools(0);
    return heldBy(running);
  };
  const few = 100;
  return rowOf('a tool of about 1 KB', await held(few), await held(count + few), count);
}

/** Servers with one tool, all behind one port; each tells of changes, so it has a stream. */
async function servers(main: string): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startHttpUpstream({ id: 'many', tools: ['echo'] }));
  const held = async (number: number) => {
    const ids = Array.from({ length: number }, (_, at) => [`s${at}`, server.config] as const);
    const after = server.mark();
    await using running = await gateway({ ...signedIn(1), upstreams: Object.fromEntries(ids) }, main);
    await server.untilReceived('tools/list', undefined, { after, times: number, timeout: 120_000 });
    const hall = new Hall(running.url, AT_ONCE);
    await hall.listTools(0);
    const look = await heldBy(running);
    hall.leave();
    return look;
  };
  return rowOf(
    'an HTTP server with one tool, its stream of notices open',
    await held(1),
    await held(SERVERS + 1),
    SERVERS,
  );
}

/** Users who list once. */
async function users(main: string, what: string, more: object): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const names = Array.from({ length: OWN_TOOLS }, (_, at) => `tool_${at}`);
  const server = stack.use(await startHttpUpstream({ id: 'own', tools: names }));
  const upstreams = { own: { ...server.config, ...more, limits: { connections: USERS + 1 } } };
  const running = stack.use(await gateway({ ...signedIn(USERS + 1), upstreams }, main));
  const hall = new Hall(running.url, AT_ONCE);
  stack.defer(() => hall.leave());
  const list = async (whose: (at: number) => number) => {
    let next = 1;
    const worker = async () => {
      for (let at = next++; at <= USERS; at = next++) {
        await hall.listTools(whose(at));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };
  // What so many requests leave behind, whoever makes them, is not counted.
  await list(() => 0);
  const before = await heldBy(running);
  await list((at) => at);
  return rowOf(what, before, await heldBy(running), USERS);
}

function signedIn(count: number): object {
  const keys = Array.from({ length: count }, (_, at) => ({
    id: `user-${at}`,
    sha256: createHash('sha256').update(keyOf(at)).digest('hex'),
  }));
  return { auth: { mode: 'keys', keys } };
}

/** What entries of the shared state take there, keys and the server's own bookkeeping included. */
async function entries(count: number): Promise<readonly Row[]> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const url = `redis://127.0.0.1:${redis.port}`;
  const log = createLog({ level: 'silent', readable: false });
  const sealingKey = randomBytes(32);
  const { settings } = parseSettings(
    JSON.stringify({
      sealingKey: sealingKey.toString('base64'),
      state: { type: 'redis', url },
      upstreams: { up: { url: 'https://up.example/mcp' } },
    }),
    { file: '/gateway.yaml', env: {}, readFile: () => '', overrides: {} },
  );
  const state = createRedisState(settings.state, log);
  stack.defer(() => state.close());
  const reached = new Promise<void>((resolve) => state.onReach((isReached) => isReached && resolve()));
  state.start();
  await reached;
  const client = createClient({ url });
  await client.connect();
  stack.defer(() => client.destroy());
  const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  const name = () => randomBytes(32).toString('base64url');
  const up = settings.upstreams['up'];
  const tokens =
    up === undefined ? undefined : sharedTokens(up, { state, sealer: createSealer(sealingKey), log });
  const kinds: readonly (readonly [string, () => Promise<unknown>])[] = [
    [
      'an ended session, for 30 d',
      () => state.note('ended-sessions', new Map([[name(), Date.now() + 30 * DAY_MS]]), count),
    ],
    ['the home of a connection of one user', () => state.claim(`home:${name()}`, state.replica, DAY_MS)],
    ['where a session has its stream', () => state.put(`stream:${name()}`, state.replica, DAY_MS)],
    [
      'the counter of a user with a limit, for a second',
      () => state.limiter('requests', 10, 600).consume(name()),
    ],
    [
      'a token of 1,000 characters for a user and server',
      async () =>
        tokens?.put(name(), { text: 'x'.repeat(1_000), gotAt: Date.now(), endsAt: Date.now() + DAY_MS }),
    ],
  ];
  const rows: Row[] = [];
  for (const [what, make] of kinds) {
    const before = await used();
    for (let left = count; left > 0; left -= AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, left) }, make));
      // What was not waited for was sent before this, on the same connection.
      await state.get('fence');
    }
    rows.push([what, bytes(((await used()) - before) / count), 'in Redis']);
  }
  return rows;
}
