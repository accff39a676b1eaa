import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { META } from '../fixtures/upstreams/scripted-script.ts';

/** A modern call as bytes. */
function callBytes(port: number, name: string): Buffer {
  const _meta = { [META.version]: '2026-07-28', [META.capabilities]: {} };
  const params = { name, arguments: { mark: 'broken' }, _meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Connection: close',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'MCP-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/call',
    `Mcp-Name: ${name}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    '',
  ];
  return Buffer.from(head.join('\r\n') + body);
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** So many clients that are gone in the middle of their request, each at another place, or right after it. */
export async function breakOff(port: number, name: string, times: number): Promise<void> {
  const bytes = callBytes(port, name);
  for (let at = 1; at <= times; at += 1) {
    const socket = await open(port);
    const part = bytes.subarray(0, Math.ceil((bytes.length * at) / times));
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    socket.resetAndDestroy();
    if (!socket.closed) {
      await once(socket, 'close');
    }
  }
}

/** A client that has read the start of its answer, and reads nothing more before it is told to. */
export interface SlowReader {
  /** Reads the rest; resolves with the whole answer as text, head and all. */
  finish(): Promise<string>;
}

export async function readSlowly(port: number, name: string): Promise<SlowReader> {
  const socket = await open(port);
  socket.write(callBytes(port, name));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return {
    async finish() {
      const chunks = [first];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.resume();
      await once(socket, 'close');
      return Buffer.concat(chunks).toString();
    },
  };
}
