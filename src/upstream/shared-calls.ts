import { GatewayError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import type { Link } from './link.ts';
import { isLeftWaiting, isSuspicious } from './liveness.ts';
import { unsettles } from './negotiate.ts';
import { isLost, isRefusedConnection, isRefusedSession } from './repeat.ts';

/** One request on a connection; a legacy server is first told the log level that its client wants. */
export function ask(
  connection: Connection,
  method: string,
  params: JsonObject | undefined,
  options: CallOptions,
): Promise<JsonObject> {
  const { logLevel } = options.envelope;
  if (logLevel === undefined) {
    return connection.request(method, params, options);
  }
  const { onQuestion: _none, onNotice: _nobody, ...plain } = options;
  return connection.wantLogs(logLevel, plain).then(() => connection.request(method, params, options));
}

/** Requests on the shared connection of one upstream, and what their failures say of that connection. */
export class SharedCalls {
  readonly #settings: UpstreamSettings;
  readonly #link: Link;

  constructor(settings: UpstreamSettings, link: Link) {
    this.#settings = settings;
    this.#link = link;
  }

  /** Made once, and once more only where that is safe: see repeat.ts. */
  request(method: string, params: JsonObject | undefined, given: CallOptions): Promise<JsonObject> {
    // Nobody can be asked on it: its questions belong to no call.
    const options = given.onQuestion === undefined ? given : { ...given, onQuestion: undefined };
    const { current } = this.#link;
    return current === undefined
      ? this.#link.connection(options.signal).then((opened) => this.#on(opened, method, params, options))
      : this.#on(current, method, params, options);
  }

  #on(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    const since = Date.now();
    return ask(connection, method, params, options).then(
      (result) => {
        this.#link.noteAuth(undefined);
        return result;
      },
      async (thrown: unknown) => {
        const another = await this.#another(connection, thrown, options);
        if (another === undefined) {
          this.#judge(connection, thrown, since);
          throw thrown;
        }
        const left = Math.max(1, options.totalMs - (Date.now() - since));
        return this.#again(another, method, params, { ...options, totalMs: left });
      },
    );
  }

  /** The connection to make it on once more; undefined where it must not be. */
  async #another(
    connection: Connection,
    thrown: unknown,
    options: CallOptions,
  ): Promise<Connection | undefined> {
    if (isRefusedSession(thrown)) {
      return this.#link.renew(connection);
    }
    if (options.signal?.aborted) {
      return undefined;
    }
    if (isRefusedConnection(thrown) && connection.ended === undefined) {
      return connection;
    }
    if (isLost(thrown) && options.repeatable === true) {
      return connection.ended === undefined ? connection : this.#link.next();
    }
    return undefined;
  }

  /** The repeat. A server that refuses a new session as well is treated as lost: tried again later. */
  async #again(
    connection: Connection,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions,
  ): Promise<JsonObject> {
    const since = Date.now();
    try {
      return await ask(connection, method, params, options);
    } catch (thrown) {
      if (thrown instanceof GatewayError && isRefusedSession(thrown)) {
        this.#link.lose(connection, thrown);
      }
      this.#judge(connection, thrown, since);
      throw thrown;
    }
  }

  /** `since`: when the request was made. What may be a fault of the whole server is found out once, not by each call. */
  #judge(connection: Connection, thrown: unknown, since: number): void {
    if (this.#settings.kind === 'http' && unsettles(connection.terms.era, thrown)) {
      this.#link.suspect(connection);
    }
    if (!(thrown instanceof GatewayError)) {
      return;
    }
    if (thrown.code === 'UPSTREAM_DOWN' && connection.ended === undefined) {
      this.#link.lose(connection, thrown);
    } else if (thrown.code === 'UPSTREAM_AUTH' || thrown.code === 'UPSTREAM_TOKEN') {
      this.#link.noteAuth(thrown);
    } else if (isSuspicious(thrown) && (!isLeftWaiting(thrown) || connection.heardAt <= since)) {
      this.#link.suspect(connection);
    }
  }
}
