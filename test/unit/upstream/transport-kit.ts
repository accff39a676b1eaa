import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { GatewayError } from '../../../src/base/errors.ts';
import { createLog, type Log } from '../../../src/base/log.ts';
import type { HttpUpstream, StdioUpstream } from '../../../src/config/settings.ts';
import type { RpcId, RpcMessage } from '../../../src/protocol/json-rpc.ts';
import type { Credential } from '../../../src/upstream/credentials.ts';
import type { Transport, TransportSink } from '../../../src/upstream/transport.ts';

/** Timeouts with a short one for connecting. */
export function impatient(connect: number): HttpUpstream['timeouts'] {
  return { ...common.timeouts, connect };
}

/** A sink that remembers, and lets a test wait for what becomes of one request. */
export class Recorder implements TransportSink {
  readonly heard: { message: RpcMessage; origin: RpcId | undefined }[] = [];
  readonly failures: { id: RpcId; error: GatewayError }[] = [];
  readonly ends: GatewayError[] = [];
  readonly #waiting = new Set<() => void>();

  message(message: RpcMessage, origin: RpcId | undefined): void {
    this.heard.push({ message, origin });
    this.#wake();
  }

  failed(id: RpcId, error: GatewayError): void {
    this.failures.push({ id, error });
    this.#wake();
  }

  closed(reason: GatewayError): void {
    this.ends.push(reason);
    this.#wake();
  }

  /** The answers to one request, however many. */
  answers(id: RpcId): RpcMessage[] {
    return this.heard
      .map(({ message }) => message)
      .filter((message) => !('method' in message) && message.id === id);
  }

  /** Messages that are no answers. */
  calls(): RpcMessage[] {
    return this.heard.map(({ message }) => message).filter((message) => 'method' in message);
  }

  /** The answer to `id`, or the error it ended with. */
  outcome(id: RpcId): Promise<RpcMessage | GatewayError> {
    return this.until(() => {
      const failure = this.failures.find((one) => one.id === id)?.error;
      return this.answers(id)[0] ?? failure ?? this.ends[0];
    });
  }

  /** The code that `id` failed with. */
  async failure(id: RpcId): Promise<GatewayError> {
    const outcome = await this.outcome(id);
    if (!(outcome instanceof Error)) {
      throw new Error(`${id} was answered: ${JSON.stringify(outcome).slice(0, 300)}`);
    }
    return outcome;
  }

  async result(id: RpcId): Promise<Record<string, unknown>> {
    const outcome = await this.outcome(id);
    if (outcome instanceof Error || !('result' in outcome)) {
      const why =
        outcome instanceof Error ? `${outcome.message} ${JSON.stringify(outcome)}` : JSON.stringify(outcome);
      throw new Error(`${id} has no result: ${why}`, { cause: outcome });
    }
    return outcome.result;
  }

  end(): Promise<GatewayError> {
    return this.until(() => this.ends[0]);
  }

  async until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) {
        return found;
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) {
      wake();
    }
    this.#waiting.clear();
  }
}

const common = {
  id: 'up',
  enabled: true,
  optional: false,
  namespace: 'up',
  protocol: 'auto',
  instructions: true,
  isolation: 'shared',
  timeouts: { connect: 5_000, probe: 1_000, call: 60_000, idle: 300_000, total: 600_000, health: 0 },
  limits: { concurrency: 16, queue: 256, maxMessageBytes: 1_048_576, connections: 32 },
  cache: { ttl: 1_000, staleFor: 1_000, scope: 'auto', trustPublic: false },
  tools: { allow: ['*'], deny: [], rename: {}, describe: {}, annotate: {} },
  trust: { annotations: false },
  validate: { arguments: 'off', results: 'off' },
  vetting: { credentials: 'off', errorDetails: 'off' },
  pins: { onChange: 'warn' },
  restart: { base: 5, cap: 10, breakAfter: 5 },
  start: 'eager',
  retry: 'never',
  stop: { grace: 3_000 },
} as const;

export function httpUpstream(url: string, changes: Partial<HttpUpstream> = {}): HttpUpstream {
  const credentials = { type: 'none' } as const;
  return { ...common, kind: 'http', url, headers: {}, credentials, transport: 'auto', ...changes };
}

/** Of a server that asks for none. */
export const NO_CREDENTIAL: Credential = { advice: '', headers: () => ({}), refused: () => false };

export function stdioUpstream(
  command: string,
  args: readonly string[],
  changes: Partial<StdioUpstream> = {},
): StdioUpstream {
  return {
    ...common,
    kind: 'stdio',
    command,
    args: [...args],
    env: {},
    passEnv: [],
    idleStop: 0,
    cwd: process.cwd(),
    ...changes,
  };
}

/** Opens a transport and closes it after the test. */
export async function opened(transport: Transport): Promise<{ transport: Transport; sink: Recorder }> {
  const sink = new Recorder();
  onTestFinished(() => transport.close(500));
  await transport.open(sink);
  return { transport, sink };
}

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The parsed body; undefined where there is none. */
  readonly message: { id?: RpcId; method?: string; params?: Record<string, unknown> } | undefined;
}

export interface HttpPeer {
  readonly origin: string;
  readonly url: string;
  readonly seen: Seen[];
  /** Those with this HTTP method. */
  count(method: string): number;
}

/** A real HTTP server on a free port, ended after the test. */
export async function startHttpPeer(
  respond: (seen: Seen, response: ServerResponse, request: IncomingMessage) => unknown,
): Promise<HttpPeer> {
  const seen: Seen[] = [];
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const one: Seen = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body,
        message: body === '' ? undefined : JSON.parse(body),
      };
      seen.push(one);
      void respond(one, response, request);
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    seen,
    count: (method) => seen.filter((one) => one.method === method).length,
  };
}

/** A bare TCP server on a free port: for peers that break HTTP, or connections. */
export async function startSocketPeer(
  connected: (socket: Socket) => void,
): Promise<{ url: string; port: number }> {
  const sockets = new Set<Socket>();
  const server = createSocketServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    connected(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, port };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function answerTo(seen: Seen, result: Record<string, unknown> = {}): Record<string, unknown> {
  return { jsonrpc: '2.0', id: seen.message?.id, result };
}

export function event(message: unknown, extra = ''): string {
  return `${extra}data: ${JSON.stringify(message)}\n\n`;
}

/** A log that keeps its lines, as JSON texts. */
export function createLogCatcher(): { readonly log: Log; readonly lines: () => string[] } {
  const caught: string[] = [];
  const log = createLog({
    level: 'trace',
    readable: false,
    destination: { write: (line: string) => void caught.push(line) },
  });
  return { log, lines: () => caught };
}
