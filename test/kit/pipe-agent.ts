import { spawn } from 'node:child_process';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { type JsonObject, objectAt } from '../../src/base/json.ts';
import type { RpcErrorObject, RpcId } from '../../src/protocol/json-rpc.ts';
import { type Era, KIND_FACTS, type Kind } from '../../src/protocol/model.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { compileCache } from './compile-cache.ts';
import { createMessageQueue, type MessageQueue } from './message-queue.ts';
import { createWaits } from './waits.ts';

/** What is to be started: an upstream's handle, or any command. */
export interface Startable {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface PipeOptions {
  readonly era: Era;
  readonly version?: string;
  readonly capabilities?: JsonObject;
  /** False: send nothing at the start. */
  readonly greet?: boolean;
  /** Put over the environment of the command. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A response over the pipe. */
interface PipeAnswer {
  readonly result?: JsonObject;
  readonly error?: RpcErrorObject;
}

/** A raw client over the stdin and stdout of a child process that it starts itself, or of a program in this one. */
export interface PipeAgent extends AsyncDisposable {
  /** 0 where there is no child. */
  readonly pid: number;
  readonly hello: JsonObject;
  /** Everything that is no response: notifications and requests of the server. */
  readonly notices: MessageQueue;
  /** Lines of stdout that are no JSON. */
  readonly noise: readonly string[];
  /** stdout as it came. */
  readonly chunks: readonly Buffer[];
  /** Exit code, or null for a signal. */
  readonly exit: Promise<number | null>;
  stderr(): string;
  begin(
    method: string,
    params?: JsonObject,
    id?: RpcId,
  ): { readonly id: RpcId; readonly done: Promise<PipeAnswer> };
  result(method: string, params?: JsonObject): Promise<JsonObject>;
  call(name: string, args?: JsonObject): Promise<{ result: JsonObject; structured: JsonObject }>;
  names(kind?: Kind): Promise<string[]>;
  notify(method: string, params?: JsonObject): void;
  /** Writes a line as it is. */
  write(line: string): void;
  endInput(): void;
}

/** The other end. */
interface Program {
  readonly name: string;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Exit code, or null for a signal. */
  readonly exit: Promise<number | null>;
  kill(): void;
}

/** Starts the command and greets it in the way of the era. Disposing ends its input, then kills it. */
export function connectPipe(command: Startable, options: PipeOptions): Promise<PipeAgent> {
  const child = spawn(command.command, [...(command.args ?? [])], {
    env: { PATH: process.env['PATH'], ...compileCache, ...command.env, ...options.env },
    stdio: 'pipe',
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const { stdin, stdout, stderr, pid = 0 } = child;
  const kill = () => void child.kill('SIGKILL');
  return talk({ name: command.command, pid, stdin, stdout, stderr, exit, kill }, options);
}

/** What a program in this process reads from and writes to. */
export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Like `connectPipe` with a program that runs in this process and resolves with its exit code. Disposing ends its input
 * and waits for its end.
 */
export function connectHere(
  run: (pipes: Pipes) => Promise<number>,
  options: PipeOptions,
): Promise<PipeAgent> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const exit = run({ input: stdin, output: stdout });
  return talk({ name: 'this process', pid: 0, stdin, stdout, stderr, exit, kill: () => {} }, options);
}

async function talk(program: Program, options: PipeOptions): Promise<PipeAgent> {
  const { exit, stdin, stdout } = program;
  const version = options.version ?? (options.era === 'modern' ? '2026-07-28' : '2025-11-25');
  const notices = createMessageQueue(`pipe to ${program.name}`);
  const waits = createWaits();
  const responses = new Map<unknown, PipeAnswer>();
  const noise: string[] = [];
  const chunks: Buffer[] = [];
  let errors = '';
  let ids = 0;
  let hello: JsonObject = {};

  exit.then(
    (code) => {
      notices.end('exit');
      waits.fail(new Error(`the child ended with ${code}`));
    },
    (error: Error) => {
      notices.end('no start');
      waits.fail(error);
    },
  );
  // A child that is gone is seen at `exit`; writing to it is no second failure.
  stdin.on('error', () => undefined);
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });

  let rest = Buffer.alloc(0);
  stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      take(rest.subarray(0, end).toString('utf8'));
      rest = rest.subarray(end + 1);
    }
  });

  const take = (line: string): void => {
    let message: JsonObject;
    try {
      message = JSON.parse(line) as JsonObject;
    } catch {
      // Servers do print such lines (case C-028).
      noise.push(line);
      return;
    }
    if ('method' in message) {
      notices.push(message);
    } else {
      responses.set(message['id'], message as PipeAnswer);
      waits.check();
    }
  };

  const write = (line: string) => void stdin.write(`${line}\n`);

  const dress = (params: JsonObject): JsonObject =>
    options.era === 'legacy'
      ? params
      : {
          ...params,
          _meta: {
            [META.version]: version,
            [META.clientInfo]: { name: 'pipe-agent', version: '1.0.0' },
            [META.capabilities]: options.capabilities ?? {},
            ...objectAt(params, '_meta'),
          },
        };

  const begin: PipeAgent['begin'] = (method, params = {}, id = ids++) => {
    write(JSON.stringify({ jsonrpc: '2.0', id, method, params: dress(params) }));
    const done = waits.until(
      () => responses.get(id),
      () => `no answer to ${method}`,
    );
    done.catch(() => undefined);
    return { id, done };
  };

  const result: PipeAgent['result'] = async (method, params) => {
    const answer = await begin(method, params).done;
    if (!answer.result) {
      throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    }
    return answer.result;
  };

  const notify: PipeAgent['notify'] = (method, params) =>
    write(JSON.stringify({ jsonrpc: '2.0', method, ...(params ? { params } : {}) }));

  const dispose = async () => {
    stdin.end();
    program.kill();
    await exit;
  };

  if (options.greet !== false) {
    try {
      hello = await greet(options, version, result);
      if (options.era === 'legacy') {
        notify('notifications/initialized');
      }
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  return {
    pid: program.pid,
    hello,
    notices,
    noise,
    chunks,
    exit,
    stderr: () => errors,
    begin,
    result,
    async call(name, args = {}) {
      const called = await result('tools/call', { name, arguments: args });
      return { result: called, structured: objectAt(called, 'structuredContent') ?? {} };
    },
    async names(kind = 'tools') {
      const { list, member, key } = KIND_FACTS[kind];
      const items = (await result(list))[member] as JsonObject[];
      return items.map((item) => String(item[key]));
    },
    notify,
    write,
    endInput: () => void stdin.end(),
    [Symbol.asyncDispose]: dispose,
  };
}

function greet(options: PipeOptions, version: string, result: PipeAgent['result']): Promise<JsonObject> {
  return options.era === 'modern'
    ? result('server/discover')
    : result('initialize', {
        protocolVersion: version,
        capabilities: options.capabilities ?? {},
        clientInfo: { name: 'pipe-agent', version: '1.0.0' },
      });
}
