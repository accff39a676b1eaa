import type { Readable, Writable } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import type { Settings } from '../config/settings.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, openGateway, tokenOf } from './open.ts';
import { reloadWhenAsked } from './reload.ts';
import { unknownUpstream } from './suggest.ts';

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
 * to stdout. Where the configuration asks for a sign-in, the variable PATCHBAY_TOKEN has the key or the token.
 */
export async function stdio(
  { upstream, names, json, ...options }: StdioCommandOptions,
  io: Io,
  pipes: Pipes = { input: process.stdin, output: process.stdout },
): Promise<ExitCode> {
  const opened = await openGateway(options, {
    ...io,
    readable: io.readable && json !== true,
  });
  const { settings, gateway, log } = opened;
  const fault =
    auditedOnStdout(settings) ?? (upstream === undefined ? undefined : unserved(upstream, settings));
  if (fault !== undefined) {
    io.err(fault);
    await gateway.close();
    return EXIT.usage;
  }
  const hurry = new AbortController();
  const stopped = io.stopped().then((signal) => {
    log.info({ signal }, 'closing');
    hurry.abort();
  });
  const token = tokenOf(io);
  const client = await gateway
    .stdio({
      ...pipes,
      ...(upstream === undefined ? {} : { upstream }),
      ...(names === undefined ? {} : { names }),
      ...(token === undefined ? {} : { token }),
    })
    .catch((thrown: unknown) => refusalOf(thrown));
  if (client instanceof GatewayError) {
    log.error({ err: client }, 'the client is not let in');
    io.err(`error: ${client.message}${client.code === 'TOKEN_MISSING' ? ' Set PATCHBAY_TOKEN.' : ''}\n`);
    await gateway.close();
    return EXIT.failed;
  }
  gateway.connect();
  // The log says what came of it: nothing but messages may be written to stdout.
  const stopReloads = reloadWhenAsked(opened, io, { done: () => {} });
  await Promise.race([client.ended, stopped]);
  stopReloads();
  await client.close(settings.shutdown.grace, hurry.signal);
  await gateway.close();
  return EXIT.ok;
}

/** Anything but a refusal is a fault, and is thrown on. */
function refusalOf(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) {
    return thrown;
  }
  throw thrown;
}

/** Nothing but messages belongs on stdout here. */
function auditedOnStdout({ audit }: Settings): string | undefined {
  return audit.file === '-'
    ? 'error: stdout belongs to the client here; give audit.file a file\n'
    : undefined;
}

/** Why one upstream alone cannot be served: it is not there, or it is off. */
function unserved(upstream: string, settings: Settings): string | undefined {
  const off = settings.upstreams[upstream]?.enabled === false;
  return off
    ? `error: the upstream "${upstream}" is switched off in the configuration\n`
    : unknownUpstream(upstream, settings);
}
