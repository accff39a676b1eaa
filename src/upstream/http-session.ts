import { GatewayError } from '../base/errors.ts';
import { HEADERS, type HeaderMap, headerOf } from '../protocol/headers.ts';
import type { Era } from '../protocol/model.ts';

export interface Agreed {
  readonly version: string;
  readonly era: Era;
}

/**
 * What belongs to one handshake over HTTP: the session id that a legacy server gave out, and the agreed version
 * (2025-11-25 transports, Session Management and Protocol Version Header).
 */
export class HttpSession {
  #id: string | undefined;
  #agreed: Agreed | undefined;

  /** The id that requests carry now. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Modern streams are not resumable; before anything is agreed a server may still be a legacy one. */
  get resumable(): boolean {
    return this.#agreed?.era !== 'modern';
  }

  /** What every request carries. */
  get headers(): Readonly<Record<string, string>> {
    return {
      ...(this.#agreed === undefined ? {} : { [HEADERS.version]: this.#agreed.version }),
      ...(this.#id === undefined ? {} : { [HEADERS.session]: this.#id }),
    };
  }

  /** Before `initialize`: neither the id nor the version of an earlier session goes with it. */
  restart(): void {
    this.#id = undefined;
    this.#agreed = undefined;
  }

  /** The answer to `initialize`, whose headers may hold an id. */
  begin(status: number, headers: HeaderMap): void {
    if (status < 300) {
      this.#id = headerOf(headers, HEADERS.session);
    }
  }

  agree(agreed: Agreed): void {
    this.#agreed = agreed;
  }

  /**
   * Takes note of a failure of a request that carried `id`. True when it ended the session: then its id is never sent
   * again (C-039). By now there may be a new session, which stays.
   */
  endedBy(thrown: unknown, id: string | undefined): boolean {
    const ended = thrown instanceof GatewayError && thrown.code === 'UPSTREAM_SESSION' && this.#id === id;
    if (ended) {
      this.#id = undefined;
    }
    return ended;
  }
}
