import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { after } from '../base/time.ts';

/** Long enough for first clients to be served before the pause that giving back is: about 0.1 s. */
const REST_MS = 10_000;

/**
 * Once, a while after the start: gives back to the system what only starting took, a quarter of all. V8 keeps its young
 * generation as large as loading the program and reading the first lists made it. Returns how to call it off.
 */
export function giveBackLater(): () => void {
  return after(REST_MS, giveBack);
}

/** @internal exported for the test */
export function giveBack(): void {
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
