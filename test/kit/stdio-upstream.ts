import { type AddressInfo, createServer, type Socket } from 'node:net';
import {
  CONTROL_PORT,
  type Command,
  type FromChild,
  lineReader,
  type ToChild,
} from '../fixtures/upstreams/scripted-control.ts';
import type { Script } from '../fixtures/upstreams/scripted-script.ts';
import { compileCache } from './compile-cache.ts';
import { signal as send, untilGone } from './processes.ts';
import { SCRIPTED } from './program.ts';
import { createRecorder } from './recorder.ts';
import { listCommands, type ScriptedUpstream } from './upstream.ts';
import { createWaits } from './waits.ts';

/** A scripted upstream as child processes that somebody else (the gateway, an SDK client) starts. */
export interface ScriptedStdio extends ScriptedUpstream {
  readonly command: string;
  readonly args: readonly string[];
  /** Must reach the child: it names the control port. */
  readonly env: Readonly<Record<string, string>>;
  /** Command and arguments as one line for `sh -c`, to wrap the server as npx and others do. */
  readonly shellLine: string;
  /** Process ids of the children that live now, oldest first. */
  readonly pids: readonly number[];
  /** Every process id there ever was. */
  readonly everyPid: readonly number[];
  /** Resolves with the pid of the nth child (from 1) once it is up. */
  untilStarted(times?: number, timeout?: number): Promise<number>;
  /** Sends a signal to every living child and resolves when they are gone (or at once, for signals they survive). */
  kill(signal?: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

interface Child {
  readonly pid: number;
  readonly socket: Socket;
}

/**
 * Opens the control port that children of this script report to; starts no child itself. `config` is put over the
 * config entry `{ command, args, env }`.
 */
export async function startStdioUpstream(
  script: Script = {},
  config: Record<string, unknown> = {},
): Promise<ScriptedStdio> {
  const id = script.id ?? 'scripted';
  const recorder = createRecorder(id);
  const waits = createWaits();
  const children = new Set<Child>();
  const pids: number[] = [];
  const answers = new Map<number, (value: unknown) => void>();
  let current = script;
  let runs = 0;

  const tell = (socket: Socket, message: ToChild) => socket.write(`${JSON.stringify(message)}\n`);

  const greet = (socket: Socket) => {
    let child: Child | undefined;
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (child) {
        children.delete(child);
        waits.check();
      }
    });
    socket.on(
      'data',
      lineReader((line) => {
        const message = parsed(line);
        if (message === undefined) {
          // A stranger: some gateway that keeps trying a port which is ours by now.
          socket.destroy();
        } else if ('hello' in message) {
          child = { pid: message.hello.pid, socket };
          children.add(child);
          pids.push(child.pid);
          tell(socket, { script: current });
          waits.check();
        } else if ('recorded' in message) {
          recorder.add(message.recorded);
        } else {
          answers.get(message.done)?.(message.value);
          answers.delete(message.done);
        }
      }),
    );
  };

  /** Runs a command in every living child; a child that ends meanwhile counts as done. */
  const run = (command: Command): Promise<unknown[]> =>
    Promise.all(
      [...children].map(({ socket }) => {
        const number = runs;
        runs += 1;
        return new Promise((resolve) => {
          const gone = () => resolve(undefined);
          socket.once('close', gone);
          answers.set(number, (value) => {
            socket.off('close', gone);
            resolve(value);
          });
          tell(socket, { run: number, command });
        });
      }),
    );

  const server = createServer(greet);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The control port is no reason for a test process to stay.
  server.unref();
  const { port } = server.address() as AddressInfo;
  const command = process.execPath;
  const args = [SCRIPTED, JSON.stringify({ id })];
  const env = { ...compileCache, [CONTROL_PORT]: String(port) };

  const change = async (patch: Partial<Script>) => {
    current = { ...current, ...patch };
    await run({ do: 'change', patch });
  };

  const kill: ScriptedStdio['kill'] = async (signal = 'SIGKILL') => {
    const living = [...children].map((child) => child.pid);
    for (const pid of living) {
      send(pid, signal);
    }
    if (signal === 'SIGKILL' || signal === 'SIGTERM') {
      await Promise.all(living.map((pid) => untilGone(pid)));
    }
  };

  return {
    id,
    command,
    args,
    env,
    shellLine: [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' '),
    config: { command, args, env, ...config },
    get script() {
      return current;
    },
    get starts() {
      return pids.length;
    },
    get pids() {
      return [...children].map((child) => child.pid);
    },
    everyPid: pids,
    received: recorder.received,
    count: recorder.count,
    untilReceived: recorder.untilReceived,
    mark: recorder.mark,
    untilListening: (options) =>
      recorder.untilReceived(['notifications/initialized', 'subscriptions/listen'], undefined, options),
    untilStarted: (times = 1, timeout) =>
      waits.until(
        () => pids[times - 1],
        () => `${id} was started ${pids.length} times, not ${times}`,
        timeout,
      ),
    change,
    ...listCommands(() => current, change),
    async notify(notice, options = {}) {
      await run({ do: 'notify', change: notice, options });
    },
    async push(message) {
      await run({ do: 'push', message });
    },
    async release(label) {
      const released = await run({ do: 'release', label });
      return released.reduce<number>((sum, each) => sum + (typeof each === 'number' ? each : 0), 0);
    },
    async endListens(how) {
      await run({ do: 'endListens', how });
    },
    kill,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await kill('SIGKILL');
      for (const { socket } of children) {
        socket.destroy();
      }
      await closed;
    },
  };
}

function parsed(line: string): FromChild | undefined {
  try {
    return JSON.parse(line) as FromChild;
  } catch {
    return undefined;
  }
}
