import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into a gateway before anything else (`--import`): answers each message of its parent with what the process
 * holds after a garbage collection, and how late its event loop was since the last time.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

process.on('message', () => {
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send({
    rss,
    heap: heapUsed + external,
    loopP99: delay.percentile(99) / 1e6,
    open: process.getActiveResourcesInfo().filter((name) => name.endsWith('Wrap')).length,
  });
  delay.reset();
});
// Its parent asks for as long as it likes; that is no reason for the gateway to stay.
process.channel?.unref();
