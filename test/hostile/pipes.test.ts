import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { startGateway } from '../kit/start-gateway.ts';

const MOST = 1_000;

it('a client over a pipe has 1,000 messages under way, whatever it asks, and goes on when one has ended', async () => {
  await using up = await startHttpUpstream({ id: 'up', tools: ['never', 'echo'] });
  await using gateway = await startGateway({
    upstreams: { up: { ...up.config, limits: { concurrency: 2_000 } } },
  });
  await gateway.gateway.settled();
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
  const client = await gateway.gateway.stdio({ input, output });
  let heard = '';
  output.on('data', (text: string) => {
    heard += text;
  });
  const answers = () =>
    heard
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const _meta = { [META.version]: '2026-07-28', [META.capabilities]: {} };
  const call = (id: number, tool: string) =>
    say({ id, method: 'tools/call', params: { name: `up.${tool}`, arguments: {}, _meta } });

  for (let id = 1; id <= MOST; id += 1) {
    call(id, 'never');
  }
  await expect.poll(() => up.count('tools/call')).toBeGreaterThan(15); // as many as there are connections
  expect(answers()).toEqual([]);
  call(MOST + 1, 'echo');
  await expect.poll(answers).toMatchObject([{ id: MOST + 1, error: { code: -32603 } }]);
  expect(heard).toContain('You ask more than you may at once');
  say({ method: 'notifications/cancelled', params: { requestId: 1 } });
  await expect
    .poll(() => {
      call(MOST + 2, 'echo');
      return answers().some(({ id, result }) => id === MOST + 2 && result !== undefined);
    })
    .toBe(true);
  await client.close(0, new AbortController().signal);
});
