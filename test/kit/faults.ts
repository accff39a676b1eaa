import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback that breaks what goes through it. Every fault is for connections that live now and later. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>` plus the path. */
  url(path: string): string;
  /** Connections that are open now, and that there ever were. */
  readonly open: number;
  readonly accepted: number;
  /** Bytes that disappeared in the black hole. */
  readonly swallowed: number;
  /** Passes nothing on, either way, and closes nothing: a firewall that forgot the flow. */
  blackhole(): void;
  /** Cuts every connection with a reset, and each new one as it comes until `heal`. */
  reset(): void;
  /** Cuts the connections of now with a reset; new ones are fine. */
  resetOnce(): void;
  /** Holds every piece back for so many ms. */
  delay(ms: number): void;
  /** Passes so many bytes of each answer on, counted from now for each connection, then ends it. */
  cutAfter(bytes: number): void;
  /** Passes everything on again; connections that were cut stay cut, what was swallowed is lost. */
  heal(): void;
}

type Mode =
  | { readonly kind: 'pass' }
  | { readonly kind: 'blackhole' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'cut'; readonly bytes: number };

interface Flow {
  readonly near: Socket;
  readonly far: Socket;
  /** Bytes of the answer that may still pass in the mode `cut`. */
  left: number;
}

/** Starts a proxy towards a loopback port. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const flows = new Set<Flow>();
  let mode: Mode = { kind: 'pass' };
  let accepted = 0;
  let swallowed = 0;

  const cut = (flow: Flow) => {
    flow.near.resetAndDestroy();
    flow.far.destroy();
  };

  const end = (flow: Flow) => {
    flow.near.destroy();
    flow.far.destroy();
  };

  const carry = (flow: Flow, from: Socket, to: Socket, chunk: Buffer) => {
    switch (mode.kind) {
      case 'pass':
        to.write(chunk);
        break;
      case 'delay':
        from.pause();
        setTimeout(() => {
          to.write(chunk);
          from.resume();
        }, mode.ms).unref();
        break;
      case 'cut':
        if (to === flow.near) {
          const passed = chunk.subarray(0, flow.left);
          flow.left -= passed.length;
          // Ended, not reset: a reset would also take from the peer what it has not read yet.
          to.write(passed, () => flow.left <= 0 && end(flow));
        } else {
          to.write(chunk);
        }
        break;
      case 'blackhole':
        swallowed += chunk.length;
        break;
      case 'reset':
        break;
    }
  };

  const server = createServer({ allowHalfOpen: true }, (near) => {
    accepted += 1;
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    const flow = { near, far, left: mode.kind === 'cut' ? mode.bytes : 0 };
    flows.add(flow);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk: Buffer) => carry(flow, from, to, chunk));
      from.on('end', () => mode.kind !== 'blackhole' && to.end());
      // Broken pipes are what this proxy is for; the other side learns of it by being closed.
      from.on('error', () => undefined);
      from.on('close', () => {
        if (mode.kind !== 'blackhole') {
          to.destroy();
        }
        // A flow of which one end is left is still open: who ends the proxy ends that too.
        if (near.closed && far.closed) {
          flows.delete(flow);
        }
      });
    }
    if (mode.kind === 'reset') {
      cut(flow);
    }
  });
  const port = await listen(server);

  return {
    port,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    get open() {
      return flows.size;
    },
    get accepted() {
      return accepted;
    },
    get swallowed() {
      return swallowed;
    },
    blackhole: () => {
      mode = { kind: 'blackhole' };
    },
    reset: () => {
      mode = { kind: 'reset' };
      flows.forEach(cut);
    },
    resetOnce: () => flows.forEach(cut),
    delay: (ms) => {
      mode = { kind: 'delay', ms };
    },
    cutAfter: (bytes) => {
      mode = { kind: 'cut', bytes };
      for (const flow of flows) {
        flow.left = bytes;
      }
    },
    heal: () => {
      mode = { kind: 'pass' };
      for (const flow of flows) {
        if (flow.near.closed || flow.far.closed) {
          end(flow);
        }
      }
    },
    async [Symbol.asyncDispose]() {
      for (const { near, far } of flows) {
        near.destroy();
        far.destroy();
      }
      await close(server);
    },
  };
}

/** A loopback port on which nobody listens: connecting is refused at once. */
export async function refusingPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await close(server);
  return port;
}

/** A server that accepts connections and never says a word. */
export async function silentPort(): Promise<
  { readonly port: number; readonly accepted: number } & AsyncDisposable
> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    // What is not read would stop the peer's writing, which is another fault.
    socket.resume();
  });
  const port = await listen(server);
  return {
    port,
    get accepted() {
      return accepted;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) {
        socket.destroy();
      }
      await close(server);
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
