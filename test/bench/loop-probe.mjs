import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into a target before anything else (`--import`): tells its parent the longest time for which its event loop stood
 * still between two messages, in ms.
 */
const RESOLUTION_MS = 2;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

process.on('message', (message) => {
  if (message === 'begin') {
    delay.enable();
    delay.reset();
  } else {
    delay.disable();
    process.send({ pause: Math.max(0, delay.max / 1e6 - RESOLUTION_MS) });
  }
});
// Its parent asks when it likes; that is no reason for the target to stay.
process.channel?.unref();
