import { setFlagsFromString } from 'node:v8';

/**
 * How much larger than what was left the last time all that is no program may grow, in percent, before V8 looks through
 * everything again. By itself it allows a tenth where much is thrown away, and up to 300 elsewhere. Bodies count: with calls of
 * 1 MB it would look through the whole heap, for 40 ms of processor time, at every fourth.
 */
const GROWTH_PERCENT = 200;

/**
 * Calls of a function, and calls of it since it last met something new, before V8 compiles it for good; by itself it waits
 * for 3,000 and 500. A request runs most functions once, so that would be after tens of thousands of requests: hours of
 * most gateways, in each of which a request takes a third longer (docs/decisions/0047).
 */
const CALLS_BEFORE = { 'invocation-count-for-turbofan': 600, 'minimum-invocations-after-ic-update': 100 };

/** From now on; what memory the process may have at most is not changed. */
export function growFreely(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/** From now on. Every Node that `engines` allows knows them; a V8 that does not says so on stderr and goes on. */
export function compileEarly(): void {
  for (const [flag, calls] of Object.entries(CALLS_BEFORE)) {
    setFlagsFromString(`--${flag}=${calls}`);
  }
}
