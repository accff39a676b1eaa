import { describe, expect, it } from 'vitest';
import { AGENTS } from '../kit/agents.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';

const FILLINGS = [
  { carrier: 'stdio', era: 'legacy', start: startStdioUpstream },
  { carrier: 'stdio', era: 'modern', start: startStdioUpstream },
  { carrier: 'http', era: 'legacy', start: startHttpUpstream },
  { carrier: 'http', era: 'modern', start: startHttpUpstream },
] as const;

describe.each(AGENTS)('a $era client', ({ connect }) => {
  describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
    const script = {
      id: 'up',
      era,
      tools: ['echo', 'whoami', 'grow', 'progress'],
      prompts: [{ name: 'greet' }],
      resources: [{ uri: 'note://one', name: 'one' }],
      templates: [{ uriTemplate: 'note://{name}', name: 'any' }],
    };

    it('lists and calls', async () => {
      await using up: ScriptedUpstream = await start(script);
      await using gateway = await startGateway({ upstreams: { up: up.config } });
      await using agent = await connect(gateway.url);
      expect(await agent.names()).toEqual(['up.echo', 'up.whoami', 'up.grow', 'up.progress']);
      const answer = await agent.call('up.echo', { a: 1 });
      expect(answer.structured).toMatchObject({ a: 1 });
    });
  });
});
