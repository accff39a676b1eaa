import { memoryUsage } from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { StartedGateway } from '../kit/start-gateway.ts';

setFlagsFromString('--expose-gc');
/** Between two looks: looking must not be what costs. */
const LOOK_MS = 25;
const collect = runInNewContext('gc') as () => void;

/** Collections until what is held is taken for kept. */
const ROUNDS = 4;

export const MIB = 1_048_576;

/** Bytes below what any test minds, garbage included: to collect it costs more than what is tried here. */
const AMPLE = 16 * MIB;

export interface Watched<T> {
  readonly value: T;
  /** Bytes more at the highest than before: gateway, test and its servers share one process. */
  readonly peak: number;
  /** Bytes that are kept after everything unreachable was collected; if that is a few, at most so many. */
  readonly kept: number;
  /** How often the gateway answered `/healthz` meanwhile. */
  readonly healthy: number;
}

/** Runs something that harms, and looks meanwhile whether the gateway still answers everybody else, and what it takes. */
export async function watch<T>(gateway: StartedGateway, run: () => Promise<T>): Promise<Watched<T>> {
  collect();
  const before = held();
  const rssBefore = memoryUsage.rss();
  let over = false;
  let healthy = 0;
  let highest = rssBefore;
  const looking = (async () => {
    do {
      const { ok } = await fetch(`${gateway.origin}/healthz`);
      healthy += ok ? 1 : 0;
      highest = Math.max(highest, memoryUsage.rss());
      await setTimeout(LOOK_MS);
    } while (!over);
  })();
  const value = await run().finally(() => {
    over = true;
  });
  await looking;
  return { value, peak: highest - rssBefore, kept: (await settled(before)) - before, healthy };
}

/** Bytes held once what is let go of a little later, sockets and the memory of large buffers, is let go of. */
async function settled(before: number): Promise<number> {
  let least = held();
  for (let round = 0; round < ROUNDS && least > before + AMPLE; round += 1) {
    collect();
    least = Math.min(least, held());
    await setTimeout(LOOK_MS);
  }
  return least;
}

function held(): number {
  const { heapUsed, arrayBuffers } = memoryUsage();
  return heapUsed + arrayBuffers;
}
