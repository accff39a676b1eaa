import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { createLog, type LOG_LEVELS, type Log } from '../base/log.ts';
import { release } from '../base/release.ts';
import { keepCredential, keepSecret } from '../base/secrets.ts';
import { credentialsOf, literalSecrets } from '../config/literal-secrets.ts';
import { type Loaded, type LoadOptions, loadSettings } from '../config/load.ts';
import { sealingKey } from '../config/sealing-key.ts';
import type { Settings } from '../config/settings.ts';
import { createGateway, type Gateway } from '../gateway.ts';
import { MemoryState } from '../state/memory-state.ts';
import type { Io } from './io.ts';
import { lockOf, lockPath } from './lock-file.ts';

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
  /** Reads the configuration once more, with the same command line and environment. Rejects with a ConfigError. */
  readonly again: () => Promise<Loaded>;
  /** Absolute paths of the configuration and of the files that it names. */
  readonly files: () => readonly string[];
  /** When they were last read, in ms since the epoch. */
  readonly readAt: () => number;
}

/** What the command line says instead of the file. */
export function overridesOf({
  host,
  port,
}: Pick<GlobalOptions, 'host' | 'port'>): LoadOptions['overrides'] & object {
  return { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
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
  const overrides = overridesOf(options);
  let named: ReadonlySet<string> = new Set();
  let readAt = 0;
  const load = async (refuseEmpty: boolean) => {
    const found = new Set<string>();
    readAt = Date.now();
    const note = (path: string) => void found.add(path);
    try {
      const loaded = await loadSettings(options.config, { env: io.env, overrides, refuseEmpty, named: note });
      named = found;
      return loaded;
    } catch (thrown) {
      // What it named before it was damaged may be what mends it.
      named = new Set([...named, ...found]);
      throw thrown;
    }
  };
  const { settings, secrets } = await load(false);
  const token = tokenOf(io);
  const hidden = [...secrets, ...literalSecrets(settings), ...(token === undefined ? [] : [token])];
  const log = createLog({ level: options.logLevel, readable: io.readable, secrets: hidden });
  // The audit log is none of pino's.
  for (const text of hidden) {
    keepSecret(text);
  }
  for (const text of [...credentialsOf(settings, secrets, io.env), ...(token === undefined ? [] : [token])]) {
    keepCredential(text);
  }
  const key = sealing === 'kept' ? await sealingKey(settings, log) : randomBytes(32);
  const gateway = createGateway({
    settings,
    sealingKey: key,
    release: release(),
    log,
    lock: () => lockOf(options.config),
    // Commands that only look say by themselves what they found, or have nothing to say of it.
    watches: sealing === 'kept',
    // They are no replica of the gateway.
    ...(sealing === 'kept' ? {} : { state: new MemoryState() }),
  });
  const again = () => load(true);
  return {
    settings,
    log,
    gateway,
    again,
    files: () => [resolve(options.config), lockPath(options.config), ...named],
    readAt: () => readAt,
  };
}
