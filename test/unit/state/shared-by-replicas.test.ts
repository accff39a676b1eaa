import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { createLog } from '../../../src/base/log.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import { SharedHomes } from '../../../src/state/homes.ts';
import { MemoryState, SharedMemory } from '../../../src/state/memory-state.ts';
import { Peers } from '../../../src/state/peers.ts';
import { Revocations } from '../../../src/state/revocations.ts';
import { sharedTokens } from '../../../src/state/shared-tokens.ts';
import type { OwnRequest } from '../../../src/upstream/replicas.ts';
import { TokenCache } from '../../../src/upstream/token-cache.ts';
import { parse } from '../config/kit.ts';

const log = createLog({ level: 'silent', readable: false });
const HOUR = 3_600_000;

/** A state that cannot be reached while `down` is true. */
class ShakyState extends MemoryState {
  down = false;
  #reach = (_reached: boolean) => {};

  override onReach(run: (reached: boolean) => void): void {
    const before = this.#reach;
    this.#reach = (reached) => {
      before(reached);
      run(reached);
    };
  }

  become(down: boolean): void {
    this.down = down;
    this.#reach(!down);
  }

  override async get(key: string) {
    this.#demand();
    return super.get(key);
  }
  override async claim(key: string, value: string, ttlMs: number) {
    this.#demand();
    return super.claim(key, value, ttlMs);
  }
  override async note(name: string, members: ReadonlyMap<string, number>, most: number) {
    this.#demand();
    return super.note(name, members, most);
  }
  override async publish(channel: string, text: string) {
    this.#demand();
    return super.publish(channel, text);
  }

  #demand(): void {
    if (this.down) {
      throw new GatewayError('STATE_DOWN');
    }
  }
}

describe('ended sessions', () => {
  const sealer = createSealer(randomBytes(32));
  const replica = (memory: SharedMemory) => {
    const state = new ShakyState(memory);
    const known = new Map<string, number>();
    const ended = (sessions: ReadonlyMap<string, number>) => {
      for (const [sid, until] of sessions) {
        known.set(sid, until);
      }
    };
    const peers = new Peers(state, sealer, log);
    const revocations = new Revocations({ state, peers, most: () => 3, ended, log });
    state.become(false);
    return { state, known, revocations };
  };

  it('are told to every replica at once, and to one that starts later', async () => {
    const memory = new SharedMemory();
    const [one, other] = [replica(memory), replica(memory)];
    const until = Date.now() + HOUR;
    one.revocations.add('a', until);
    await expect.poll(() => other.known).toEqual(new Map([['a', until]]));
    const later = replica(memory);
    await expect.poll(() => later.known).toEqual(new Map([['a', until]]));
  });

  it('that could not be told are told as soon as they can be, the newest of them', async () => {
    const memory = new SharedMemory();
    const [one, other] = [replica(memory), replica(memory)];
    one.state.become(true);
    const until = Date.now() + HOUR;
    for (const sid of ['a', 'b', 'c', 'd']) {
      one.revocations.add(sid, until);
    }
    expect(other.known.size).toBe(0);
    one.state.become(false);
    await expect.poll(() => [...other.known.keys()].toSorted()).toEqual(['b', 'c', 'd']);
    const later = replica(memory);
    await expect.poll(() => later.known.size).toBe(3);
  });
});

describe('the home of a connection', () => {
  const request = { upstream: 'box' } as OwnRequest;
  const scene = () => {
    const memory = new SharedMemory();
    const asked: string[] = [];
    let gone: string | undefined;
    const replica = () => {
      const state = new ShakyState(memory);
      const homes = new SharedHomes({
        state,
        log,
        ask: async (home) => {
          asked.push(home);
          if (home === gone) {
            throw new GatewayError('PEER_ABSENT');
          }
          return { at: home };
        },
      });
      const own = { here: async () => ({ at: state.replica }), isOpen: () => true };
      return { state, homes, at: async (name = 'alice') => (await homes.run(name, request, own))['at'] };
    };
    return {
      one: replica(),
      other: replica(),
      asked,
      lose: (home: string) => {
        gone = home;
      },
    };
  };

  it('is the replica that was asked first, for everybody, and it asks nobody', async () => {
    const { one, other, asked } = scene();
    const [first, second] = await Promise.all([one.at(), other.at()]);
    expect(first).toBe(second);
    expect(asked).toHaveLength(1);
    const home = first === one.state.replica ? one : other;
    expect(await home.at()).toBe(first);
    expect(asked).toHaveLength(1);
    expect(await other.at('bob')).toBe(await one.at('bob'));
  });

  it('is another one when that is gone', async () => {
    const { one, other, lose } = scene();
    expect(await one.at()).toBe(one.state.replica);
    lose(one.state.replica);
    expect(await other.at()).toBe(other.state.replica);
  });

  it('is given up at the end, and is here while nobody can say where', async () => {
    const { one, other } = scene();
    await one.at();
    other.state.down = true;
    expect(await other.at()).toBe(other.state.replica);
    other.state.down = false;
    expect(await other.at()).toBe(one.state.replica);
    await one.homes.close();
    expect(await other.at()).toBe(other.state.replica);
  });
});

describe('tokens for an upstream', () => {
  const upstream = (url = 'https://up.example.com/mcp') => {
    const credentials =
      '{ type: clientCredentials, tokenUrl: "https://id.example.com/token", clientId: a, clientSecret: "0123456789" }';
    const { settings } = parse(`upstreams: { up: { url: "${url}", credentials: ${credentials} } }`);
    return settings.upstreams['up'] ?? expect.unreachable();
  };
  const scene = () => {
    const memory = new SharedMemory();
    const sealer = createSealer(randomBytes(32));
    let issued = 0;
    const replica = (about = upstream()) => {
      const state = new ShakyState(memory);
      const cache = new TokenCache(Date.now, sharedTokens(about, { state, sealer, log }));
      const get = (key: string) =>
        cache.get({
          key,
          until: undefined,
          subject: undefined,
          ask: async () => {
            issued += 1;
            return { text: `token-number-${issued}`, lifetimeMs: HOUR };
          },
        });
      return { state, cache, get };
    };
    return { one: replica(), other: replica(), replica, memory, issued: () => issued };
  };

  it('are got once for all replicas, for each user', async () => {
    const { one, other, issued } = scene();
    const token = await one.get('alice');
    expect(await other.get('alice')).toBe(token);
    expect(await other.get('bob')).not.toBe(token);
    expect(issued()).toBe(2);
  });

  it('are readable for nobody there, and good under their own name alone', async () => {
    const { one, other, memory } = scene();
    const token = await one.get('alice');
    const [[name, entry] = ['', undefined]] = [...memory.values];
    expect(JSON.stringify([...memory.values])).not.toMatch(new RegExp(`${token}|alice`));
    await other.get('bob');
    const bobs = [...memory.values.keys()].find((key) => key !== name) ?? '';
    memory.values.set(bobs, entry ?? expect.unreachable());
    expect(await one.get('bob')).not.toBe(token);
  });

  it('that were refused are not taken from another replica again', async () => {
    const { one, other } = scene();
    const token = await one.get('alice');
    await other.get('alice');
    expect(one.cache.refused('alice', token, 401)).toBe(true);
    const next = await one.get('alice');
    expect(next).not.toBe(token);
    expect(other.cache.refused('alice', token, 401)).toBe(true);
    expect(await other.get('alice')).toBe(next);
  });

  it('are those of one configuration, and of each replica alone while nothing is shared', async () => {
    const { one, other, replica } = scene();
    const token = await one.get('alice');
    expect(await replica(upstream('https://other.example.com/mcp')).get('alice')).not.toBe(token);
    other.state.down = true;
    expect(await other.get('alice')).not.toBe(token);
  });
});
