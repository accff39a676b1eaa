import type { Readable, Writable } from 'node:stream';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, openGateway } from './open.ts';

export interface StdioCommandOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly names?: 'dotted' | 'strict';
  readonly upstream?: string;
}

/** The two ends of the client. */
interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * `stdio`: serves the one client that started this process, over its standard streams, until it closes its end. What it
 * asked for before is still answered, within `shutdown.grace`; a signal ends that too. Nothing but messages is written
 * to stdout.
 */
export async function stdio(
  { upstream, names, json, ...options }: StdioCommandOptions,
  io: Io,
  pipes: Pipes = { input: process.stdin, output: process.stdout },
): Promise<ExitCode> {
  const { settings, gateway, log } = await openGateway(options, {
    ...io,
    readable: io.readable && json !== true,
  });
  if (upstream !== undefined && settings.upstreams[upstream]?.enabled !== true) {
    io.err(`error: there is no upstream "${upstream}" in the configuration, or it is off\n`);
    await gateway.close();
    return EXIT.usage;
  }
  const hurry = new AbortController();
  const stopped = io.stopped().then((signal) => {
    log.info({ signal }, 'closing');
    hurry.abort();
  });
  gateway.connect();
  const client = gateway.stdio({
    ...pipes,
    ...(upstream === undefined ? {} : { upstream }),
    ...(names === undefined ? {} : { names }),
  });
  await Promise.race([client.ended, stopped]);
  await client.close(settings.shutdown.grace, hurry.signal);
  await gateway.close();
  return EXIT.ok;
}
