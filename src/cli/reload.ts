import { keepCredential, keepSecret } from '../base/secrets.ts';
import { diffLines, isSame, type SettingsDiff } from '../config/diff.ts';
import { credentialsOf, literalSecrets } from '../config/literal-secrets.ts';
import { ConfigError } from '../config/problems.ts';
import { watchFiles } from '../config/watch.ts';
import type { Io } from './io.ts';
import type { Opened } from './open.ts';

type Outcome = SettingsDiff | ConfigError;

interface ReloadsOptions extends Pick<Opened, 'gateway' | 'again' | 'log'> {
  /** What came of one. */
  readonly done: (outcome: Outcome) => void;
}

interface WhenAsked {
  readonly watch?: boolean | undefined;
  /** Once now: it was asked for already. */
  readonly atOnce?: boolean;
  readonly done: (outcome: Outcome) => void;
}

/**
 * From here on the configuration is read again at SIGHUP and, unless `watch` is false, when one of its files is another
 * one. `done` hears what came of each time. Returns how to stop.
 */
export function reloadWhenAsked(
  { files, readAt, ...opened }: Pick<Opened, 'gateway' | 'again' | 'log' | 'files' | 'readAt'>,
  io: Pick<Io, 'onHangup'>,
  { watch = true, atOnce = false, done }: WhenAsked,
): () => void {
  const reloads = new Reloads({
    ...opened,
    done: (outcome) => {
      done(outcome);
      // It may name other files now.
      watching?.sign();
    },
  });
  io.onHangup(() => {
    opened.gateway.reopen();
    reloads.request('SIGHUP');
  });
  if (atOnce) {
    reloads.request('SIGHUP while it started');
  }
  const changed = () => reloads.request('a file has changed');
  const watching = watch ? watchFiles({ files, readAt, changed, log: opened.log }) : undefined;
  return () => watching?.stop();
}

/** Reads the configuration again when asked to. One at a time; however often it is asked meanwhile, once more after. */
class Reloads {
  readonly #options: ReloadsOptions;
  #running = false;
  #again = false;
  /** How to forget the secrets of the configuration that holds, and of the one before: its servers may still be ending. */
  #secrets: readonly (readonly (() => void)[])[] = [];

  constructor(options: ReloadsOptions) {
    this.#options = options;
  }

  /** `why`: for the log. Waits for nobody. */
  request(why: string): void {
    this.#options.log.debug({ why }, 'asked to read the configuration again');
    this.#again = true;
    if (!this.#running) {
      this.#running = true;
      void this.#run();
    }
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#reload();
    }
    this.#running = false;
  }

  async #reload(): Promise<void> {
    const { gateway, again, log, done } = this.#options;
    try {
      const { settings, secrets } = await again();
      this.#mask([...secrets, ...literalSecrets(settings)], credentialsOf(settings, secrets, process.env));
      done(gateway.reload(settings));
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) {
        // Whatever it is, what serves goes on.
        log.error({ err: thrown }, 'the configuration could not be reloaded');
        return;
      }
      gateway.refused(thrown);
      done(thrown);
    }
  }

  /** Before anything can be logged that holds one of them. */
  #mask(secrets: readonly string[], credentials: readonly string[]): void {
    const kept = [...secrets.map(keepSecret), ...credentials.map(keepCredential)];
    const [last = [], ...older] = this.#secrets;
    this.#secrets = [kept, last];
    for (const forget of older.flat()) {
      forget();
    }
  }
}

/** What came of a reload, for people; nothing where nothing was changed. */
export function outcomeText(outcome: Outcome): string {
  if (outcome instanceof ConfigError) {
    return `Not reloaded, the old configuration keeps serving:\n${outcome.logged ?? outcome.message}\n`;
  }
  return isSame(outcome)
    ? ''
    : `Reloaded:\n${diffLines(outcome)
        .map((line) => `  ${line}\n`)
        .join('')}`;
}

/** The same as one line of JSON. */
export function outcomeJson(outcome: Outcome): string {
  const about =
    outcome instanceof ConfigError ? { ok: false, problems: outcome.problems } : { ok: true, ...outcome };
  return `${JSON.stringify({ reload: about })}\n`;
}
