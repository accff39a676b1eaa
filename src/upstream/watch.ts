import { UpstreamRpcError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { after, backoff, pause } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import { TASKS } from '../protocol/extensions.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Connection } from './connection.ts';

export interface WatchOptions {
  readonly settings: UpstreamSettings;
  readonly envelope: Envelope;
  readonly log: Log;
}

const FOREVER = Number.POSITIVE_INFINITY;
/** A stream that stayed open this long was fine: its end does not count against the back-off. */
const STABLE_MS = 30_000;
/** Each change costs as much as the whole set: rest after one, in ms for each thing that is watched. */
const REST_MS = 0.1;

/**
 * Keeps the resources that some client watches subscribed at one upstream, in the way of its era, and again after each
 * reconnect (case C-076): `resources/subscribe` for each URI, or one `subscriptions/listen` for the whole set.
 */
export class Watch {
  readonly #options: WatchOptions;
  /** What is wanted at the moment: whoever gave it may change it, and says so. */
  #wanted: ReadonlySet<string> = new Set();
  #tasks: ReadonlySet<string> = new Set();
  #connection: Connection | undefined;
  /** When the next change may be passed on. */
  #restUntil = 0;
  #planned = false;
  /** Legacy: what the present connection is subscribed to. */
  #subscribed = new Set<string>();
  /** Modern: the streams that are open. More than one only until the newest is acknowledged. */
  readonly #streams = new Set<AbortController>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Nothing is wanted. */
  get idle(): boolean {
    return this.#wanted.size === 0 && this.#tasks.size === 0;
  }

  /** The whole set of URIs that are wanted from now on. */
  set(uris: ReadonlySet<string>): void {
    this.#wanted = uris;
    this.#plan();
  }

  /** The whole set of tasks whose states are wanted from now on; a legacy server has no such stream. */
  setTasks(tasks: ReadonlySet<string>): void {
    this.#tasks = tasks;
    this.#plan();
  }

  /** A new connection, which knows of nothing yet. */
  attach(connection: Connection): void {
    this.#connection = connection;
    this.#subscribed = new Set();
    this.#endBefore(undefined);
    this.#apply();
  }

  /** Changes that come together are passed on together, and the more there is the longer they wait for each other. */
  #plan(): void {
    if (this.#planned) {
      return;
    }
    this.#planned = true;
    const run = () => {
      this.#planned = false;
      this.#apply();
      this.#restUntil = Date.now() + (this.#wanted.size + this.#tasks.size) * REST_MS;
    };
    const left = this.#restUntil - Date.now();
    if (left > 0) {
      after(left, run);
    } else {
      queueMicrotask(run);
    }
  }

  #apply(): void {
    const connection = this.#connection;
    if (connection === undefined || connection.ended !== undefined) {
      return;
    }
    if (connection.terms.era === 'legacy') {
      this.#subscribe(connection);
    } else {
      this.#listen(connection);
    }
  }

  #subscribe(connection: Connection): void {
    const before = this.#subscribed;
    this.#subscribed = new Set(this.#wanted);
    for (const uri of this.#wanted) {
      if (!before.has(uri)) {
        this.#ask(connection, 'resources/subscribe', uri);
      }
    }
    for (const uri of before) {
      if (!this.#wanted.has(uri)) {
        this.#ask(connection, 'resources/unsubscribe', uri);
      }
    }
  }

  /** Clients were told that they are subscribed: what failed on its way is asked for again, while it is wanted. */
  #ask(connection: Connection, method: string, uri: string, failures = 0): void {
    const { envelope, settings, log } = this.#options;
    const { call } = settings.timeouts;
    connection
      .request(method, { uri }, { envelope, timeoutMs: call, totalMs: call })
      .catch((thrown: unknown) => {
        const about = { err: thrown, method };
        log[failures === 0 ? 'warn' : 'debug'](about, 'a resource subscription was not changed');
        if (method !== 'resources/subscribe' || thrown instanceof UpstreamRpcError) {
          return;
        }
        after(backoff(failures, settings.restart.base, settings.restart.cap), () => {
          const here = this.#connection === connection && connection.ended === undefined;
          if (here && this.#subscribed.has(uri)) {
            this.#ask(connection, method, uri, failures + 1);
          }
        });
      });
  }

  /** The stream for the new set is opened first and older ones closed once it is acknowledged: nothing is missed. */
  #listen(connection: Connection): void {
    if (this.idle) {
      this.#endBefore(undefined);
      return;
    }
    const filter = {
      ...(this.#wanted.size === 0 ? {} : { resourceSubscriptions: [...this.#wanted] }),
      ...(this.#tasks.size === 0 ? {} : { taskIds: [...this.#tasks] }),
    };
    const mine = new AbortController();
    this.#streams.add(mine);
    void this.#keepOpen(connection, filter, mine.signal, () => this.#endBefore(mine));
  }

  /** Ends the streams that are older than this one; all of them where none is named. */
  #endBefore(stream: AbortController | undefined): void {
    for (const older of this.#streams) {
      if (older === stream) {
        return;
      }
      this.#streams.delete(older);
      older.abort();
    }
  }

  /** Never rejects: every end of the stream is followed by another try, until the set or the connection changes. */
  async #keepOpen(
    connection: Connection,
    notifications: JsonObject,
    signal: AbortSignal,
    acknowledged: () => void,
  ): Promise<void> {
    const { settings, log } = this.#options;
    const envelope = { ...this.#options.envelope, clientCapabilities: forTasks(notifications) };
    const onNotice = (notice: RpcNotification) => {
      if (notice.method === 'notifications/subscriptions/acknowledged' && !signal.aborted) {
        acknowledged();
      }
    };
    for (let failures = 0; connection.ended === undefined && !signal.aborted; failures += 1) {
      const openedAt = Date.now();
      const options = { envelope, signal, timeoutMs: FOREVER, totalMs: FOREVER, onNotice };
      await connection
        .request('subscriptions/listen', { notifications }, options)
        .catch((thrown: unknown) => log.debug({ err: thrown }, 'the stream of resource updates ended'));
      failures = Date.now() - openedAt > STABLE_MS ? 0 : failures;
      await pause(
        signal.aborted ? 0 : backoff(failures, settings.restart.base, settings.restart.cap),
        signal,
      );
    }
  }
}

/** Whoever listens for tasks has to declare that extension, also the gateway itself (SEP-2663). */
function forTasks(notifications: JsonObject): JsonObject {
  return notifications['taskIds'] === undefined ? {} : { extensions: { [TASKS]: {} } };
}
