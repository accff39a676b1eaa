import { Agent, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A balancer that knows nothing of sessions: each request goes to the next one. Passes streams on as they come. */
export interface RoundRobin extends AsyncDisposable {
  readonly port: number;
}

export async function startRoundRobin(ports: readonly number[]): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: false });
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    turn += 1;
    const port = ports[turn % ports.length] ?? 0;
    const { method, url, headers } = incoming;
    const passed = httpRequest({ host: '127.0.0.1', port, agent, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  // Longer than any client keeps a connection that it does not use.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
