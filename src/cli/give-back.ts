import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { after } from '../base/time.ts';

/** Starting is over by then; and so long it is watched before, in ms: first clients are served before the pause of 0.1 s. */
const STARTED_MS = 5_000;
const WATCHED_MS = 5_000;
/** The part of the time watched that a gateway works at most which nobody uses yet. */
const AT_REST = 0.1;

/**
 * Once, a while after the start: gives back to the system what only starting took, a quarter of all. V8 keeps its young
 * generation as large as loading the program and reading the first lists made it. Returns how to call it off.
 *
 * Not where the gateway is in use by then: the code that V8 has compiled for it would go as well, and calls would cost
 * about twice as much until it is compiled again.
 */
export function giveBackLater(give: () => void = giveBack): () => void {
  let stopWatching = () => {};
  const stop = after(STARTED_MS, () => {
    const started = performance.eventLoopUtilization();
    stopWatching = after(WATCHED_MS, () => {
      if (performance.eventLoopUtilization(started).utilization < AT_REST) {
        give();
      }
    });
  });
  return () => {
    stop();
    stopWatching();
  };
}

/** @internal exported for the test */
export function giveBack(): void {
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
