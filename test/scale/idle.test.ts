import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { freePort } from '../bench/started.ts';
import { usage } from '../bench/usage.ts';
import { startGatewayProcess } from '../kit/gateway-process.ts';
import { connectModern } from '../kit/modern-agent.ts';

const ECHO = new URL('../bench/echo-server.ts', import.meta.url).pathname;
const UPSTREAMS = 20;

it('takes little memory while it idles in front of 20 servers with 400 tools', async () => {
  const port = await freePort();
  const servers = spawn(process.execPath, [ECHO, '--port', String(port), '--tools', '20'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(servers.stdout, 'data');
    const ids = Array.from({ length: UPSTREAMS }, (_, at) => `s${at}`);
    const upstreams = ids.map((id) => [id, { url: `http://127.0.0.1:${port}/${id}/mcp` }]);
    await using gateway = await startGatewayProcess({ upstreams: Object.fromEntries(upstreams) });
    await using agent = await connectModern(gateway.url);
    await agent.untilNames((names) => names.length === UPSTREAMS * 20);
    // The aim is 110 MB, once it has given back what starting took; right after its start it holds more.
    expect(usage(gateway.child.pid ?? 0).rss).toBeLessThan(200);
  } finally {
    servers.kill();
  }
});
