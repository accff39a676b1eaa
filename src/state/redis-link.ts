import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { after, backoff } from '../base/time.ts';
import type { Settings } from '../config/settings.ts';
import type { StateHealth } from './state.ts';

/** Longest time for one command, in ms: a server that takes longer is as good as none, and is left. */
const COMMAND_MS = 1_000;
/** For connecting, signing in and subscribing, in ms. */
const CONNECT_MS = 3_000;
/** How often a quiet connection is tried, in ms. */
const BEAT_MS = 2_000;
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 5_000;
/** Commands that wait for their answers; more are refused. */
const MOST_WAITING = 10_000;

/** As the client reads it: what it can be, has to be looked at. */
export type Reply = unknown;

/**
 * The one connection to a Redis server, for commands and subscriptions alike (RESP3), so that there is one answer to
 * whether it can be reached. It is left at the first command that is not answered in time, and made anew for as long as it
 * takes. Nothing waits for it: a command without a connection is refused at once.
 */
export class RedisLink {
  readonly #settings: Settings['state'];
  readonly #log: Log;
  readonly #channels = new Map<string, (text: string) => void>();
  readonly #listeners: ((reached: boolean) => void)[] = [];
  #client: RedisClient | undefined;
  #health: StateHealth = { type: 'redis', status: 'connecting', since: Date.now() };
  #attempt = 0;
  #ended = false;
  #cancelRetry = () => {};
  #cancelBeat = () => {};

  constructor(settings: Settings['state'], log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  get health(): StateHealth {
    return this.#health;
  }

  onReach(run: (reached: boolean) => void): void {
    this.#listeners.push(run);
  }

  /** Before `start`: subscriptions are a part of connecting. */
  hear(channel: string, heard: (text: string) => void): void {
    this.#channels.set(channel, heard);
  }

  start(): void {
    void this.#connect();
  }

  /** Rejects with STATE_DOWN: no connection, no answer in time, too many waiting, or refused. */
  async command(...args: string[]): Promise<Reply> {
    const client = this.#client;
    if (client === undefined) {
      throw new GatewayError('STATE_DOWN', { logged: 'no connection' });
    }
    try {
      return await within(COMMAND_MS, client.sendCommand(args));
    } catch (thrown) {
      if (thrown instanceof Late) {
        this.#lose(client, thrown);
      }
      throw new GatewayError('STATE_DOWN', { cause: thrown });
    }
  }

  close(): void {
    this.#ended = true;
    this.#cancelRetry();
    this.#cancelBeat();
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) {
      destroy(client);
    }
  }

  async #connect(): Promise<void> {
    let client: RedisClient;
    try {
      client = await clientOf(this.#settings);
    } catch (thrown) {
      this.#rest(thrown);
      return;
    }
    let failed: unknown;
    client.on('error', (thrown: unknown) => {
      failed = thrown;
      this.#lose(client, thrown);
    });
    try {
      await within(CONNECT_MS, this.#open(client));
      if (failed !== undefined) {
        throw failed;
      }
    } catch (thrown) {
      destroy(client);
      this.#rest(thrown);
      return;
    }
    if (this.#ended) {
      destroy(client);
      return;
    }
    this.#client = client;
    this.#attempt = 0;
    this.#health = { type: 'redis', status: 'ok', since: Date.now() };
    this.#log.info('the shared state is reached');
    this.#beat(client);
    this.#tell(true);
  }

  async #open(client: RedisClient): Promise<void> {
    await client.connect();
    for (const [channel, heard] of this.#channels) {
      await client.subscribe(channel, heard);
    }
  }

  #beat(client: RedisClient): void {
    this.#cancelBeat = after(BEAT_MS, () => {
      if (this.#client === client) {
        // What it failed with has been seen to when it failed.
        this.command('PING').then(
          () => this.#beat(client),
          () => this.#beat(client),
        );
      }
    });
  }

  #lose(client: RedisClient, thrown: unknown): void {
    if (this.#client !== client) {
      return;
    }
    this.#client = undefined;
    this.#cancelBeat();
    destroy(client);
    this.#tell(false);
    this.#rest(thrown);
  }

  #rest(thrown: unknown): void {
    if (this.#ended) {
      return;
    }
    const lastError = whatIsWrong(thrown);
    if (this.#health.status !== 'down') {
      this.#log.warn({ err: thrown }, 'the shared state cannot be reached: this replica goes on alone');
      this.#health = { type: 'redis', status: 'down', since: Date.now(), lastError };
    } else {
      this.#health = { ...this.#health, lastError };
    }
    this.#cancelRetry = after(backoff(this.#attempt, FIRST_REST_MS, LONGEST_REST_MS), () => {
      void this.#connect();
    });
    this.#attempt += 1;
  }

  #tell(reached: boolean): void {
    for (const run of this.#listeners) {
      run(reached);
    }
  }
}

/** The client is loaded by whoever has a state to share: it is a quarter of what a start would load without it. */
async function clientOf({ url = '', username, password }: Settings['state']) {
  // All that a CommonJS module surely has once it is bundled as a part of its own.
  const { default: redis } = await import('@redis/client');
  return redis.createClient({
    url,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    RESP: 3,
    name: 'patchbay',
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
    commandsQueueMaxLength: MOST_WAITING,
    maintNotifications: 'disabled',
  });
}

type RedisClient = Awaited<ReturnType<typeof clientOf>>;

class Late extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/** Rejects after `ms`; not because this process itself was busy for so long, while the answer was there. */
function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => setImmediate(() => reject(new Late(ms))));
    answer.finally(cancel).then(resolve, reject);
  });
}

function destroy(client: RedisClient): void {
  // One that was closed already says so by throwing.
  if (client.isOpen) {
    client.destroy();
  }
}

/** Names no address and no secret. */
function whatIsWrong(thrown: unknown): string {
  if (thrown instanceof Late) {
    return thrown.message;
  }
  const { code, message = '' } = thrown as { readonly code?: unknown; readonly message?: string };
  // Of what the server itself says, the kind of its error alone: NOAUTH, WRONGPASS, LOADING.
  return typeof code === 'string' ? code : (/^[A-Z]{3,}\b/.exec(message)?.[0] ?? 'the connection was lost');
}
