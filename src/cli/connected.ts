import type { Gateway } from '../gateway.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';

/** Longer than any upstream takes: each is bounded by its own timeouts. */
const FOREVER = Number.POSITIVE_INFINITY;

/**
 * Starts the upstreams without a port, waits until each was tried, runs `work`, and ends everything again, whatever
 * came of it. A signal ends it early, without an orphan; `work` then sees its own signal aborted.
 */
export async function whileConnected(
  gateway: Gateway,
  io: Io,
  work: (signal: AbortSignal) => ExitCode | Promise<ExitCode>,
): Promise<ExitCode> {
  const ending = new AbortController();
  const { signal } = ending;
  const stopped = io.stopped().then(() => ending.abort());
  try {
    gateway.connect();
    gateway.fleet.wake(gateway.fleet.ids);
    const clear = showProgress(gateway, io);
    await Promise.race([gateway.settled(), stopped]);
    clear();
    const code = signal.aborted ? EXIT.failed : await work(signal);
    if (!signal.aborted) {
      return code;
    }
    io.err('Interrupted.\n');
    return EXIT.failed;
  } finally {
    await gateway.close();
  }
}

/**
 * Counts the upstreams that were tried, where a person looks. The cursor is left at the start of the line, so that a
 * log line that comes meanwhile takes its place.
 */
function showProgress({ fleet, store }: Gateway, io: Io): () => void {
  const { ids } = fleet;
  if (!io.readable || ids.length === 0) {
    return () => {};
  }
  let tried = 0;
  let shown = '';
  let over = false;
  const show = () => {
    if (!over) {
      shown = `connecting ${tried}/${ids.length} …`;
      io.err(`${shown}\r`);
    }
  };
  show();
  for (const id of ids) {
    void store.settled([id], FOREVER).then(() => {
      tried += 1;
      show();
    });
  }
  return () => {
    over = true;
    io.err(`${' '.repeat(shown.length)}\r`);
  };
}
