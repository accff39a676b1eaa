import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';

it('a gateway that has no file descriptors left recovers when clients go', async () => {
  await using upstream = await startHttpUpstream({ id: 'up', tools: ['echo'] });
  await using gateway = await startGatewayProcess(
    { upstreams: { up: upstream.config } },
    { descriptors: 80 },
  );
  const sockets: Socket[] = [];
  for (let at = 0; at < 200; at += 1) {
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  expect(gateway.ended).toBe(false);
  await Promise.all(
    sockets.map(async (socket) => {
      socket.destroy();
      if (!socket.closed) {
        await once(socket, 'close');
      }
    }),
  );
  // The gateway learns a little later that they went.
  const isBack = async () => (await fetch(new URL('/healthz', gateway.url))).status;
  await expect.poll(() => isBack().catch(String)).toBe(200);
  for (const { connect: enter } of AGENTS) {
    await using agent = await enter(gateway.url);
    expect((await agent.call('up.echo', { mark: 'here' })).structured).toEqual({ mark: 'here' });
  }
  expect(gateway.log).not.toMatch(/unhandled|uncaught/i);
});
