import type { JsonObject } from '../base/json.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Connection } from './connection.ts';
import { keyFor } from './member.ts';
import type { Pool } from './pool.ts';
import { isLost, isRefusedSession } from './repeat.ts';
import type { Homes, OwnRequest } from './replicas.ts';
import { ask } from './shared-calls.ts';
import type { Standing } from './standing.ts';

export interface OwnCallsOptions {
  readonly settings: UpstreamSettings;
  readonly pool: Pool;
  readonly standing: Standing | undefined;
  /** Absent: this process is alone. */
  readonly homes: Homes | undefined;
}

/** Requests on the connections of single users and sessions, whichever replica has them. */
export class OwnCalls {
  readonly #options: OwnCallsOptions;

  constructor(options: OwnCallsOptions) {
    this.#options = options;
  }

  request(asked: Omit<OwnRequest, 'upstream'>): Promise<JsonObject> {
    const { homes, settings, standing, pool } = this.#options;
    const request = { ...asked, upstream: settings.id };
    const here = () => this.here(request);
    // A modern server remembers nothing of a connection (2026-07-28).
    if (homes === undefined || standing?.terms?.era === 'modern') {
      return here();
    }
    const key = keyFor(asked.party, { settings, standing });
    return homes.run(JSON.stringify([settings.id, key]), request, { here, isOpen: () => pool.has(key) });
  }

  /** On the connection that this process has, or opens. */
  here({ method, params, options, party, any }: OwnRequest): Promise<JsonObject> {
    const { pool } = this.#options;
    const work = (connection: Connection): Promise<JsonObject> =>
      method === undefined || options === undefined
        ? Promise.resolve({ ...connection.terms })
        : ask(connection, method, params, options);
    return any
      ? twice(() => pool.useAny(party, work))
      : twice(() => pool.use(party, work), options?.repeatable);
  }
}

/**
 * Refused before it acted, because its session had ended: once more, on a new one (case C-039). `repeatable`: also where
 * the connection was lost.
 */
async function twice<T>(attempt: () => Promise<T>, repeatable = false): Promise<T> {
  try {
    return await attempt();
  } catch (thrown) {
    if (isRefusedSession(thrown) || (repeatable && isLost(thrown))) {
      return attempt();
    }
    throw thrown;
  }
}
