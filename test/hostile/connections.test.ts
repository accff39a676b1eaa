import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { startGateway } from '../kit/start-gateway.ts';

const MOST = 8;

it('more connections than limits.connections are closed as they come, and those that are there go on', async () => {
  await using stack = new AsyncDisposableStack();
  const gateway = stack.use(
    await startGateway({ limits: { connections: MOST }, metrics: { public: true }, upstreams: {} }),
  );
  const open = () => {
    const socket = connect(gateway.port, '127.0.0.1').setEncoding('latin1');
    stack.defer(() => void socket.destroy());
    return socket;
  };
  const ask = async (socket: Socket, path = '/healthz') => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n\r\n`);
    const [text] = await once(socket, 'data');
    return String(text);
  };
  const admitted = Array.from({ length: MOST }, open);
  for (const socket of admitted) {
    expect(await ask(socket)).toContain('200 OK');
  }
  for (const turned of [open(), open(), open()]) {
    turned.on('data', (text) => expect.fail(`answered: ${String(text)}`)).on('error', () => {});
    await once(turned, 'close');
  }
  const [first, second] = admitted as [Socket, Socket];
  expect(await ask(first, '/metrics')).toContain('patchbay_client_connections_dropped_total 3\n');
  const told = gateway.logged.filter(({ msg }) => String(msg).includes('limits.connections'));
  expect(told).toMatchObject([{ level: 40, connections: MOST, withheld: 0 }]);

  second.end();
  await once(second, 'close');
  await expect.poll(() => ask(first, '/metrics')).toContain(`patchbay_client_connections ${MOST - 1}\n`);
  expect(await ask(open())).toContain('200 OK');
});
