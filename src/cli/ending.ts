import { GatewayError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import { after } from '../base/time.ts';
import { EXIT } from './io.ts';

/** Ctrl-C under npm comes twice: from the terminal, and from npm, which passes it on. In ms. */
const ONE_AND_THE_SAME_MS = 500;
/** After a fault nothing is certain, an orderly end least of all. In ms. */
const FAULT_MS = 15_000;
/** How often to see whether npm is still there, in ms. */
const PARENT_MS = 500;

/** What ends this process: signals, faults that nobody caught, and the end of the npm that it was started by. */
export interface Ending {
  /**
   * Resolves with what asks the process to end: the name of a signal, `fault`, or `end of npm`. From the first call on,
   * those are no longer left to Node. Whoever asks a second time, by signal, means at once: no child outlives that
   * either (upstream/keeper.ts).
   */
  stopped(): Promise<string>;
  /** Logs what nobody caught and asks for the end; ends at once where nothing is under way that could end in order. */
  fault(thrown: unknown): void;
  /** Whether there was a fault: then the exit code says so. */
  readonly faulty: boolean;
}

/** `readable`: whether a person reads the log. */
export function createEnding(readable: boolean): Ending {
  let resolve: (why: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  let askedAt: number | undefined;
  let heeded = false;
  let faulty = false;

  const onSignal = (signal: string) => {
    const now = performance.now();
    askedAt ??= now;
    if (now - askedAt > ONE_AND_THE_SAME_MS) {
      process.exit(EXIT.failed);
    }
    resolve(signal);
  };

  return {
    stopped() {
      if (!heeded) {
        heeded = true;
        process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
        watchNpm(() => resolve('end of npm'));
      }
      return promise;
    },
    fault(thrown) {
      const err = new GatewayError('INTERNAL', { cause: thrown });
      createLog({ level: 'fatal', readable }).fatal({ err }, 'a fault that nothing caught: the process ends');
      if (!heeded) {
        process.exit(EXIT.failed);
      }
      if (!faulty) {
        faulty = true;
        after(FAULT_MS, () => process.exit(EXIT.failed));
        resolve('fault');
      }
    },
    get faulty() {
      return faulty;
    },
  };
}

/**
 * npm, npx and others run a script in a shell. They pass SIGTERM on to that shell, which dies of it, and what it runs is
 * left behind without having heard a thing: but it gets another parent.
 */
function watchNpm(ended: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) {
    return;
  }
  const parent = process.ppid;
  const look = () => {
    if (process.ppid === parent) {
      after(PARENT_MS, look);
    } else {
      ended();
    }
  };
  look();
}
