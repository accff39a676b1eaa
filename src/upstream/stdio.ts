import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import { asLine } from '../base/json.ts';
import { createLineReader } from '../base/line-reader.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../base/time.ts';
import type { StdioUpstream } from '../config/settings.ts';
import type { RpcId, RpcMessage } from '../protocol/json-rpc.ts';
import { commandNotFound, type Launch, resolveCommand } from './child-command.ts';
import { childEnvironment } from './child-env.ts';
import { codeOf, fromPipe } from './foreign-errors.ts';
import { Inbox } from './inbox.ts';
import { createProcessGroup, type Exit, type ProcessGroup } from './process-group.ts';
import { createStderrDrain, type StderrDrain } from './stderr-drain.ts';
import type { Transport, TransportSink } from './transport.ts';

/**
 * A server run as a child process, one JSON-RPC message a line on its stdin and stdout (spec: transports/stdio).
 * Unix and Windows. A gateway that is killed with SIGKILL leaves its children to the keeper (C-032).
 */
export function createStdioTransport(about: { upstream: StdioUpstream; log: Log }): Transport {
  return new StdioTransport(about.upstream, about.log);
}

/** So many of the largest messages may wait for a child that does not read them. */
const MOST_UNREAD = 4;
/** Share of the grace in which a child may end by itself after its stdin was closed. */
const PATIENCE = 0.5;
/** Rest of a group whose leader has ended by itself: nobody speaks to it any more. */
const REMNANT_GRACE_MS = 1_000;
/** For the last output of processes that have ended; a stranger that inherited the pipe could hold it open for ever. */
const LAST_OUTPUT_MS = 500;
/** How a shell says that there is no such command, or that it cannot be run (POSIX, 2.8.2). */
const SHELL_REFUSALS: ReadonlySet<number | null> = new Set([126, 127]);

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly group: ProcessGroup;
  /** The child has ended and its pipes are closed. */
  readonly closed: Promise<unknown>;
  readonly inbox: Inbox;
  readonly stderr: StderrDrain;
}

class StdioTransport implements Transport {
  readonly streams = false;
  readonly #upstream: StdioUpstream;
  readonly #log: Log;
  #running: Running | undefined;
  /** Whether the child has ever written a message. */
  #spoken = false;
  /** What is about to be written. */
  #batch: { messages: number } | undefined;
  #ended: Promise<void> | undefined;

  constructor(upstream: StdioUpstream, log: Log) {
    this.#upstream = upstream;
    this.#log = log;
  }

  async open(sink: TransportSink): Promise<void> {
    const { id, command, args, cwd } = this.#upstream;
    if (this.#ended !== undefined) {
      throw new GatewayError('UPSTREAM_DOWN', { upstream: id });
    }
    const { platform } = process;
    const env = childEnvironment(process.env, this.#upstream, platform);
    const query = { upstream: id, command, args, env, cwd, platform, exists: existsSync };
    const launch = resolveCommand(query);
    try {
      const child = start(launch, { cwd, env, platform });
      this.#running = this.#attach(child, sink);
      await once(child, 'spawn');
    } catch (thrown) {
      this.#running = undefined;
      throw codeOf(thrown) === 'ENOENT' && existsSync(cwd)
        ? commandNotFound(query, thrown)
        : this.#unstartable(thrown);
    }
    this.#watch(this.#running);
  }

  send(message: RpcMessage): Promise<void> {
    const running = this.#running;
    const upstream = this.#upstream.id;
    if (running === undefined || this.#ended !== undefined || !running.child.stdin.writable) {
      return Promise.reject(fromPipe(undefined, upstream));
    }
    const { child, group, inbox, stderr } = running;
    if (child.stdin.writableLength > MOST_UNREAD * this.#upstream.limits.maxMessageBytes) {
      const logged = `${child.stdin.writableLength} bytes wait for its process to read them`;
      return Promise.reject(new GatewayError('UPSTREAM_BUSY', { upstream, logged }));
    }
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    if (id !== undefined) {
      inbox.expect(id);
    }
    const batch = this.#batchFor(child.stdin);
    batch.messages += 1;
    return new Promise((resolve, reject) => {
      child.stdin.write(asLine(JSON.stringify(message)), (error) => {
        if (error === null || error === undefined) {
          resolve();
          return;
        }
        if (id !== undefined) {
          inbox.forget(id);
        }
        // A pipe that breaks because the process ends: how it ended, and its last words, say more than the pipe does.
        void Promise.race([group.exited, pause(LAST_OUTPUT_MS)]).then((exit) => {
          const ended = exit === undefined ? undefined : this.#reason(exit, stderr.tail(), 'by itself');
          reject(ended ?? fromPipe(error, upstream, batch.messages > 1));
        });
      });
    });
  }

  /** Messages of one turn of the event loop go to the child in one write. */
  #batchFor(stdin: Writable): { messages: number } {
    if (this.#batch === undefined) {
      this.#batch = { messages: 0 };
      stdin.cork();
      setImmediate(() => {
        this.#batch = undefined;
        stdin.uncork();
      });
    }
    return this.#batch;
  }

  abandon(id: RpcId): void {
    this.#running?.inbox.forget(id);
  }

  close(graceMs: number): Promise<void> {
    this.#ended ??= this.#end(graceMs);
    return this.#ended;
  }

  /** Listens before anything else happens, so that not a byte of the child's first words is missed. */
  #attach(child: ChildProcessWithoutNullStreams, sink: TransportSink): Running {
    const { id, limits, env, passEnv } = this.#upstream;
    const inbox = new Inbox({ upstream: id, maxMessageBytes: limits.maxMessageBytes, sink, log: this.#log });
    const lines = createLineReader(limits.maxMessageBytes, {
      line: (text) => {
        this.#spoken = inbox.receive(text) || this.#spoken;
      },
      overflow: (head) => inbox.tooLarge(head.toString('utf8'), undefined),
      skipped: (head, tail) => inbox.tooLarge(head.toString('utf8'), tail.toString('utf8')),
    });
    const secrets = [...Object.values(env), ...passEnv.map((name) => process.env[name] ?? '')];
    const stderr = createStderrDrain(this.#log, secrets);
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    child.stdout.on('end', () => lines.end());
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stderr.on('end', () => stderr.end());
    for (const stream of child.stdio) {
      // Writers learn of a broken pipe from their own write; readers see the end.
      stream?.on('error', (error) => this.#log.debug({ err: error }, 'a pipe of the process broke'));
    }
    child.on('error', (error) =>
      this.#log.debug({ err: error }, 'the process could not be started or signalled'),
    );
    const closed = new Promise((resolve) => child.once('close', resolve));
    return { child, group: createProcessGroup(child, process.platform, this.#log), closed, inbox, stderr };
  }

  /** A child that ends, or closes its stdout and so cannot answer any more, takes the transport with it. */
  #watch({ child, group }: Running): void {
    const over = (graceMs: number) => {
      this.#ended ??= this.#end(graceMs, 'by itself');
    };
    void group.exited.then(() => over(REMNANT_GRACE_MS));
    child.stdout.once('end', () => over(this.#upstream.stop.grace));
  }

  async #end(graceMs: number, why?: 'by itself'): Promise<void> {
    const running = this.#running;
    if (running === undefined) {
      return;
    }
    const { child, group, closed, inbox, stderr } = running;
    const gone = child.exitCode !== null || child.signalCode !== null;
    child.stdin.end();
    await group.stop(gone ? 0 : graceMs * PATIENCE, graceMs);
    await Promise.race([closed, pause(LAST_OUTPUT_MS)]);
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.destroy();
    }
    const exit = await Promise.race([group.exited, pause(0).then(() => undefined)]);
    inbox.close(this.#reason(exit, stderr.tail(), why));
  }

  #reason(exit: Exit | undefined, tail: string, why: 'by itself' | undefined): GatewayError {
    const upstream = this.#upstream.id;
    const how = describeExit(exit);
    const logged = `${how}${tail === '' ? '' : ` stderr ends with: ${tail}`}`;
    if (why === undefined) {
      return new GatewayError('UPSTREAM_LOST', { upstream, logged: `ended by the gateway; ${logged}` });
    }
    const refused = !this.#spoken && exit !== undefined && SHELL_REFUSALS.has(exit.code);
    return new GatewayError(refused ? 'UPSTREAM_COMMAND' : 'UPSTREAM_LOST', {
      upstream,
      detail: how,
      logged,
    });
  }

  #unstartable(thrown: unknown): GatewayError {
    const { id, command, cwd } = this.#upstream;
    const noFolder = !existsSync(cwd);
    return new GatewayError('UPSTREAM_COMMAND', {
      upstream: id,
      ...(noFolder ? { detail: 'Its working folder does not exist.' } : {}),
      logged: `command: ${command}; cwd: ${cwd}`,
      cause: thrown,
    });
  }
}

function start(
  launch: Launch,
  about: { cwd: string; env: Record<string, string>; platform: NodeJS.Platform },
): ChildProcessWithoutNullStreams {
  return spawn(launch.file, launch.args, {
    cwd: about.cwd,
    env: about.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own on POSIX; on Windows this would open a console window.
    detached: about.platform !== 'win32',
    windowsHide: true,
    windowsVerbatimArguments: launch.verbatim,
  });
}

function describeExit(exit: Exit | undefined): string {
  if (exit === undefined) {
    return 'Its process cannot be ended.';
  }
  return exit.signal === null
    ? `Its process ended with exit code ${exit.code}.`
    : `Its process was ended by ${exit.signal}.`;
}
