import { createHash } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import { replicaName } from './memory-state.ts';
import { RedisLink, type Reply } from './redis-link.ts';
import type { State } from './state.ts';

/** KEYS: one; ARGV: a value, and for the first two a time in ms. */
const CLAIM = `local held = redis.call('get', KEYS[1])
if held then return held end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return ARGV[1]`;
const RENEW = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;
const DROP = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])`;
/** KEYS: a sorted set; ARGV: now, the most it may have, then times and members. */
const NOTE = `redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1])
for at = 3, #ARGV, 2 do redis.call('zadd', KEYS[1], 'gt', ARGV[at], ARGV[at + 1]) end
redis.call('zremrangebyrank', KEYS[1], 0, -1 - ARGV[2])
local last = redis.call('zrange', KEYS[1], -1, -1, 'withscores')
if last[2] then redis.call('pexpireat', KEYS[1], string.format('%.0f', last[2])) end`;

/** Members that are written or read with one command. */
const AT_ONCE = 1_000;

/** The state of one of several replicas, in Redis 6.2 or later or in Valkey. */
export function createRedisState(settings: Settings['state'], log: Log): State {
  const link = new RedisLink(settings, log);
  const named = (key: string) => `${settings.prefix}:${key}`;
  const run = (script: string, key: string, ...args: (string | number)[]) =>
    link.command('EVAL', script, '1', named(key), ...args.map(String));
  return {
    replica: replicaName(),
    shared: true,
    health: () => link.health,
    get: async (key) => textOf(await link.command('GET', named(key))),
    async put(key, value, ttlMs) {
      await link.command('SET', named(key), value, 'PX', whole(ttlMs));
    },
    claim: async (key, value, ttlMs) => textOf(await run(CLAIM, key, value, whole(ttlMs))) ?? value,
    renew: async (key, value, ttlMs) => (await run(RENEW, key, value, whole(ttlMs))) === 1,
    async drop(key, value) {
      await run(DROP, key, value);
    },
    async note(set, members, most) {
      const left = [...members];
      while (left.length > 0) {
        const some = left.splice(0, AT_ONCE);
        await run(NOTE, set, Date.now(), most, ...some.flatMap(([member, until]) => [whole(until), member]));
      }
    },
    async noted(set) {
      const found = new Map<string, number>();
      const since = String(Date.now());
      for (let from = 0; from === found.size; from += AT_ONCE) {
        const range = ['ZRANGE', named(set), since, '+inf', 'BYSCORE'];
        const page = await link.command(...range, 'LIMIT', String(from), String(AT_ONCE), 'WITHSCORES');
        for (const [member, until] of pairsOf(page)) {
          found.set(member, until);
        }
      }
      return found;
    },
    limiter(name, points, seconds) {
      const about = { keyPrefix: name, points, duration: seconds };
      return new RateLimiterRedis({
        ...about,
        storeClient: {
          get isReady() {
            return link.health.status === 'ok';
          },
          eval: (script: string, { keys, arguments: args }: { keys: string[]; arguments: string[] }) =>
            // Of whom it counts is nobody's business there.
            link.command(
              'EVAL',
              script,
              String(keys.length),
              ...keys.map((key) => named(`${name}:${digestOf(key)}`)),
              ...args,
            ),
        },
        useRedisPackage: true,
        rejectIfRedisNotReady: true,
        // Whoever has used everything up is refused without another question until there is something again.
        inMemoryBlockOnConsumed: points,
        insuranceLimiter: new RateLimiterMemory(about),
      });
    },
    async publish(channel, text) {
      return Number(await link.command('PUBLISH', named(channel), text));
    },
    hear: (channel, heard) => link.hear(named(channel), heard),
    onReach: (listener) => link.onReach(listener),
    start: () => link.start(),
    close: async () => link.close(),
  };
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

function whole(ms: number): string {
  return String(Math.max(1, Math.round(ms)));
}

function textOf(reply: Reply): string | undefined {
  return typeof reply === 'string' ? reply : undefined;
}

/** Members with their scores: RESP3 has them as pairs. */
function pairsOf(reply: Reply): readonly (readonly [string, number])[] {
  return Array.isArray(reply)
    ? reply.map(([member, score]: [unknown, unknown]) => [String(member), Number(score)])
    : [];
}
