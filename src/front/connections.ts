import type { Server } from 'node:http';
import type { Log } from '../base/log.ts';
import { createRation } from '../base/ration.ts';

const LINES_PER_MINUTE = 1;

/**
 * Closes connections beyond so many as soon as they come: without a bound a crowd of clients would use up the files that
 * the process may open, and then no server could be reached either. `dropped` is told of each.
 */
export function boundConnections(server: Server, most: number, log: Log, dropped: () => void): void {
  const lines = createRation(LINES_PER_MINUTE);
  server.maxConnections = most;
  server.on('drop', () => {
    dropped();
    const withheld = lines.take();
    if (withheld !== undefined) {
      log.warn(
        { connections: most, withheld },
        'a connection was closed: there are limits.connections of them',
      );
    }
  });
}
