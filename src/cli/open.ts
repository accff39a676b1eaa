import { randomBytes } from 'node:crypto';
import { createLog, type LOG_LEVELS, type Log } from '../base/log.ts';
import { release } from '../base/release.ts';
import { literalSecrets } from '../config/literal-secrets.ts';
import { loadSettings } from '../config/load.ts';
import { sealingKey } from '../config/sealing-key.ts';
import type { Settings } from '../config/settings.ts';
import { createGateway, type Gateway } from '../gateway.ts';
import type { Io } from './io.ts';

/** Options that every command takes; each is also an environment variable. */
export interface GlobalOptions {
  readonly config: string;
  readonly host?: string;
  readonly port?: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

export interface Opened {
  readonly settings: Settings;
  readonly gateway: Gateway;
  readonly log: Log;
}

/** What the client of `stdio` signs in with; undefined where the variable is empty. */
export function tokenOf({ env }: Pick<Io, 'env'>): string | undefined {
  const token = env['PATCHBAY_TOKEN'];
  return token === '' ? undefined : token;
}

/**
 * Loads the configuration and builds the gateway; nothing is started. Rejects with a ConfigError. `sealing` is
 * `throwaway` for commands whose sealed tokens never leave the process: they leave nothing in the state folder.
 */
export async function openGateway(
  options: GlobalOptions,
  io: Io,
  sealing: 'kept' | 'throwaway' = 'kept',
): Promise<Opened> {
  const { host, port } = options;
  const overrides = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
  const { settings, secrets } = await loadSettings(options.config, { env: io.env, overrides });
  const token = tokenOf(io);
  const log = createLog({
    level: options.logLevel,
    readable: io.readable,
    secrets: [...secrets, ...literalSecrets(settings), ...(token === undefined ? [] : [token])],
  });
  const key = sealing === 'kept' ? await sealingKey(settings, log) : randomBytes(32);
  return { settings, log, gateway: createGateway({ settings, sealingKey: key, release: release(), log }) };
}
