import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A pipe between a client and the gateway that keeps every byte that the client was sent. */
export interface Tap extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Everything that came so far, connection by connection, headers included. */
  received(): string;
}

/** `port` is asked for each connection: the gateway may have been started anew. */
export async function startTap(port: () => number): Promise<Tap> {
  const pieces: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const mine: Buffer[] = [];
    pieces.push(mine);
    const far = connect({ port: port(), host: '127.0.0.1' });
    far.on('data', (piece: Buffer) => mine.push(piece));
    near.pipe(far);
    far.pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      // Whichever side breaks off, the other is to notice.
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${address.port}`,
    received: () => pieces.map(wholeText).join('\n'),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) {
        socket.destroy();
      }
      await closed;
    },
  };
}

/** The text of one connection, without the lengths that stand between the chunks of a body. */
function wholeText(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces)
    .toString('utf8')
    .replaceAll(/\r\n[0-9a-f]{1,8}\r\n/g, '');
}
