import { isDeepStrictEqual } from 'node:util';
import { GatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { after } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Envelope } from '../protocol/era-codec.ts';
import type { Connection } from './connection.ts';
import { modernTerms } from './handshake.ts';
import { contradicts, unsettles } from './negotiate.ts';

export interface LivenessOptions {
  readonly connection: Connection;
  readonly settings: UpstreamSettings;
  readonly envelope: Envelope;
  /** It is not there any more, or has ended its session. */
  readonly failed: (reason: GatewayError) => void;
}

/**
 * Asks a server that has said nothing for `timeouts.health` whether it is still there. One that has calls to work on may
 * be too busy to say so, and is left alone: they have deadlines of their own. But when one of those has run out, and
 * nothing was heard all the while, a server that does not answer is lost, whatever else it should be doing.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  #cancel = () => {};
  #asking = false;
  #over = false;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#wait();
  }

  /** Something went wrong, and may go wrong for everybody: asks now rather than when it is time. */
  suspect(): void {
    if (!this.#asking && !this.#over) {
      void this.#ask(true);
    }
  }

  /** It may have been replaced by another without a word: asks now what it says of itself. */
  look(): void {
    if (!this.#asking && !this.#over) {
      void this.#ask(false);
    }
  }

  stop(): void {
    this.#over = true;
    this.#cancel();
  }

  #wait(): void {
    const { connection, settings } = this.#options;
    const { health } = settings.timeouts;
    this.#cancel();
    if (health > 0 && !this.#over) {
      this.#cancel = after(connection.heardAt + health - Date.now(), () => {
        if (Date.now() - connection.heardAt < health) {
          this.#wait();
        } else if (!this.#asking) {
          void this.#ask(false);
        }
      });
    }
  }

  /** Never rejects. */
  async #ask(suspected: boolean): Promise<void> {
    const { connection, failed } = this.#options;
    this.#asking = true;
    const fault = await whetherThere(this.#options, suspected);
    this.#asking = false;
    if (this.#over) {
      return;
    }
    if (fault === undefined || (!suspected && fault.data?.['silent'] === true && connection.busy)) {
      this.#again();
    } else {
      failed(fault);
    }
  }

  /** A whole span from now: asking one that is busy counts as having heard of it. */
  #again(): void {
    const { health } = this.#options.settings.timeouts;
    this.#cancel();
    if (health > 0 && !this.#over) {
      this.#cancel = after(health, () => this.#wait());
    }
  }
}

/** Statuses of a proxy that cannot reach its server. */
const GATEWAY_STATUSES: ReadonlySet<unknown> = new Set([502, 503, 504]);

/** A failure of one request that may be one of the whole server. */
export function isSuspicious(thrown: unknown): boolean {
  return (
    thrown instanceof GatewayError &&
    (thrown.code === 'UPSTREAM_LOST' ||
      thrown.code === 'UPSTREAM_TIMEOUT' ||
      (thrown.code === 'UPSTREAM_FAILED' && GATEWAY_STATUSES.has(thrown.data?.['status'])))
  );
}

/** A call ran out without an answer. */
export function isLeftWaiting(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'UPSTREAM_TIMEOUT';
}

/** It takes no more messages, since it has not read those before. */
function isUnread(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'UPSTREAM_BUSY';
}

/** Answers that say that somebody is there, though not to be spoken to now. */
const THERE: ReadonlySet<string> = new Set([
  'UPSTREAM_AUTH',
  'UPSTREAM_TOKEN',
  'UPSTREAM_RATE_LIMITED',
  'UPSTREAM_STATUS',
  'UPSTREAM_FAILED',
]);

/**
 * Asks in the way of the connection's era. Undefined where the server is there, also where it only refuses (-32601 is an
 * answer like any other); else what it ended with: UPSTREAM_VERSION where what the handshake settled holds no longer.
 * `suspected`: another request has failed, so that a refusal is no oddity of this one. Waits no longer than for a connection.
 */
export async function whetherThere(
  about: Pick<LivenessOptions, 'connection' | 'settings' | 'envelope'>,
  suspected: boolean,
): Promise<GatewayError | undefined> {
  const { connection, settings, envelope } = about;
  const { connect } = settings.timeouts;
  const { id: upstream } = settings;
  const { era } = connection.terms;
  const method = era === 'modern' ? 'server/discover' : 'ping';
  try {
    const options = { envelope, timeoutMs: connect, totalMs: connect, aside: true };
    const told = await connection.request(method, {}, options);
    return settings.kind === 'http' && hasChanged(connection, told)
      ? new GatewayError('UPSTREAM_VERSION', {
          upstream,
          logged: 'it says other things of itself than it did',
        })
      : undefined;
  } catch (thrown) {
    if (settings.kind === 'http' && (suspected ? unsettles : contradicts)(era, thrown)) {
      return new GatewayError('UPSTREAM_VERSION', { upstream, cause: thrown });
    }
    if (isAnswer(thrown)) {
      return undefined;
    }
    if (isLeftWaiting(thrown) || isUnread(thrown)) {
      const detail = 'It does not answer any more.';
      const logged = `no answer to ${method} for ${connect} ms`;
      return new GatewayError('UPSTREAM_DOWN', { upstream, detail, data: { silent: true }, logged });
    }
    const known = thrown instanceof GatewayError && !isSuspicious(thrown);
    return known ? thrown : new GatewayError('UPSTREAM_DOWN', { upstream, cause: thrown });
  }
}

/** A modern server under the same connection may be another than the one that was asked first: it was replaced. */
function hasChanged({ terms }: Connection, told: JsonObject): boolean {
  if (terms.era !== 'modern' || !isObject(told['capabilities'])) {
    return false;
  }
  const now = modernTerms(terms.version, told);
  return now.instructions !== terms.instructions || !isDeepStrictEqual(now.capabilities, terms.capabilities);
}

function isAnswer(thrown: unknown): boolean {
  if (!(thrown instanceof GatewayError)) {
    return thrown instanceof UpstreamRpcError;
  }
  return THERE.has(thrown.code) && !isSuspicious(thrown);
}
