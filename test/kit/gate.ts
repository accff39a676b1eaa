import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What came to a gate, passed on or not. */
export interface Knock {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Who it was taken for; undefined: refused. */
  readonly user: string | undefined;
}

/** Who sent these headers, or the status with which they are refused. */
export type Doorkeeper = (headers: IncomingMessage['headers']) => string | number;

/** A reverse proxy before an upstream that lets in whom its doorkeeper knows: an upstream of either era with sign-in. */
export interface Gate extends AsyncDisposable {
  /** Of the same path behind it. */
  url(path: string): string;
  readonly knocks: readonly Knock[];
  /** Answers from now on are given by this one. */
  guardedBy(doorkeeper: Doorkeeper): void;
  /** Its port refuses from now on. */
  kill(): Promise<void>;
}

/** `behind` is the upstream that a user gets to, by its URL; `doorkeeper` decides who a request is from. */
export async function startGate(
  behind: string | ((user: string) => string),
  doorkeeper: Doorkeeper,
): Promise<Gate> {
  let keeper = doorkeeper;
  const knocks: Knock[] = [];
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) {
      parts.push(part);
    }
    const body = Buffer.concat(parts);
    const found = keeper(request.headers);
    const user = typeof found === 'string' ? found : undefined;
    const { method = '', url: path = '', headers } = request;
    knocks.push({ method, path, headers, body: body.toString('utf8'), user });
    if (typeof found === 'number') {
      // It repeats what it was told, as servers in debug mode do.
      response.writeHead(found, { 'www-authenticate': `Bearer realm="${headers.authorization ?? ''}"` });
      response.end(JSON.stringify(headers));
      return;
    }
    const target = new URL(typeof behind === 'string' ? behind : behind(found));
    const { hostname, port } = target;
    const onward = send({ hostname, port, method, path, headers: { ...headers, host: target.host } });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  }

  const kill = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: (path) => origin + path,
    knocks,
    guardedBy(next) {
      keeper = next;
    },
    kill,
    [Symbol.asyncDispose]: () => (server.listening ? kill() : Promise.resolve()),
  };
}
