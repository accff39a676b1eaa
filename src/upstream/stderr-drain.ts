import { createLineReader, KEPT } from '../base/line-reader.ts';
import type { Log } from '../base/log.ts';
import { createRation, excerpt } from '../base/ration.ts';

export interface StderrDrain {
  push(chunk: Buffer): void;
  end(): void;
  /** The last few KiB, secrets masked: what is worth reading when the process has died. */
  tail(): string;
}

const LINES_PER_MINUTE = 300;
const LINE_LENGTH = 1_000;
/** More than is shown, so that a secret across the edge is whole when it is masked. */
const HELD = KEPT + 1_024;

/**
 * Takes whatever a child writes to stderr, as fast as it comes and however much it is, or the child would block in a
 * write (C-030): lines go to the log at debug, so many a minute and cut to a length; memory holds one tail. stderr is
 * no sign of an error (spec: transports/stdio).
 */
export function createStderrDrain(log: Log, secrets: readonly string[]): StderrDrain {
  const ration = createRation(LINES_PER_MINUTE);
  let withheld: number | undefined;
  const wanted = () => {
    withheld = ration.take();
    return withheld !== undefined;
  };
  const line = (text: string) =>
    log.debug({ stderr: excerpt(masked(text, secrets), LINE_LENGTH), ...(withheld ? { withheld } : {}) });
  const lines = createLineReader(KEPT, {
    wanted,
    line,
    overflow: (head) => (wanted() ? line(head.toString('utf8')) : undefined),
    skipped: () => {},
  });
  let last: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      lines.push(chunk);
      last = Buffer.concat([last, chunk.subarray(-HELD)]).subarray(-HELD);
    },
    end: () => lines.end(),
    tail: () => masked(last.toString('utf8'), secrets).slice(-KEPT).trim(),
  };
}

/** Shorter values are words such as `production`; masking them would only make lines unreadable. */
const SHORTEST_SECRET = 8;

function masked(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (rest, secret) => (secret.length < SHORTEST_SECRET ? rest : rest.replaceAll(secret, '[masked]')),
    text,
  );
}
