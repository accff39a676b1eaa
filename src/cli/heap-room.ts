import { setFlagsFromString } from 'node:v8';

/**
 * How much larger than what was left the last time all that is no program may grow, in percent, before V8 looks through
 * everything again. By itself it allows a tenth where much is thrown away, and up to 300 elsewhere. Bodies count: with calls of
 * 1 MB it would look through the whole heap, for 40 ms of processor time, at every fourth.
 */
const GROWTH_PERCENT = 200;

/** From now on; what memory the process may have at most is not changed. */
export function growFreely(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
