import { describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { processFacts } from '../kit/processes.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';

describe('a gateway that is told to end', () => {
  it.each(AGENTS)(
    'takes nobody new, ends the streams of $era clients, answers what is under way, then ends its servers',
    async (client) => {
      await using up = await startStdioUpstream({ id: 'up', tools: ['slow', 'never'] });
      await using gateway = await startGateway({
        shutdown: { grace: '30s' },
        upstreams: { up: up.config },
      });
      await using agent = await client.connect(gateway.url);
      await agent.untilNames((names) => names.includes('up.slow'));
      await using stream = await agent.listen({ tools: true });
      const running = agent.begin('tools/call', { name: 'up.slow', arguments: { tag: 'done' } });
      await up.untilReceived('tools/call');
      const pid = up.pids[0] ?? 0;

      const closed = gateway.close();
      const ended = await stream.closed;
      expect(ended.ended).toBe('whole');
      if (client.era === 'modern') {
        expect(ended.result).toMatchObject({ resultType: 'complete' });
      }
      await expect
        .poll(() =>
          fetch(`${gateway.origin}/healthz`).then(
            () => 'served',
            () => 'refused',
          ),
        )
        .toBe('refused');
      // The server works on, for the call that waits for it.
      expect(processFacts(pid)).toBeDefined();
      await up.release('slow');
      expect((await running.done).result).toMatchObject({ structuredContent: { done: 'done' } });
      await closed;
      expect(processFacts(pid)).toBeUndefined();
      // By the end of its stdin, which is asked for first.
      const last = gateway.logged.findLast(({ upstream }) => upstream === 'up');
      expect(JSON.stringify(last ?? {})).not.toMatch(/SIGTERM|SIGKILL/);
    },
  );

  it.each(AGENTS)(
    'ends the call of a $era client that outlasts the grace with an error that names the server',
    async (client) => {
      await using up = await startStdioUpstream({ id: 'up', tools: ['never'] });
      await using gateway = await startGateway({
        shutdown: { grace: '100ms' },
        upstreams: { up: up.config },
      });
      await using agent = await client.connect(gateway.url);
      await agent.untilNames((names) => names.includes('up.never'));
      const running = agent.begin('tools/call', { name: 'up.never', arguments: {} });
      await up.untilReceived('tools/call');
      await gateway.close();
      const { result } = await running.done;
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^\[up\]/) }] });
    },
  );
});
