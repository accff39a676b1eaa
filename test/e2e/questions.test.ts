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

const ELICITED = { action: 'accept', content: { name: 'Ada' } };
const SAMPLED = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm', stopReason: 'endTurn' };
const ROOTS = { roots: [{ uri: 'file:///srv', name: 'srv' }] };

const client = {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  answers: {
    'elicitation/create': () => ELICITED,
    'sampling/createMessage': () => SAMPLED,
    'roots/list': () => ROOTS,
  },
};

const url = { mode: 'url', message: 'Sign in', url: 'https://example.com/in', elicitationId: 'e1' };

const KINDS = [
  { kind: 'elicitation', args: { kind: 'elicitation' }, answer: ELICITED },
  { kind: 'url elicitation', args: { kind: 'elicitation', params: url }, answer: ELICITED },
  { kind: 'sampling', args: { kind: 'sampling' }, answer: SAMPLED },
  { kind: 'roots', args: { kind: 'roots' }, answer: ROOTS },
];

describe.each(AGENTS)('a $era client', ({ connect }) => {
  describe.each(FILLINGS)('in front of a $era upstream over $carrier', ({ era, start }) => {
    const script = { id: 'up', era, tools: ['echo', 'ask'] };
    const isolated = (up: ScriptedUpstream) => ({ ...up.config, isolation: 'user' });

    it.each(KINDS)('answers a question: $kind', async ({ args, answer }) => {
      await using up = await start(script);
      await using gateway = await startGateway({ upstreams: { up: isolated(up) } });
      await using agent = await connect(gateway.url, client);
      const { structured } = await agent.call('up.ask', args);
      expect(structured).toMatchObject({ answers: [{ result: answer }] });
    });

    it('answers several rounds of questions within one call', async () => {
      await using up = await start(script);
      await using gateway = await startGateway({ upstreams: { up: isolated(up) } });
      await using agent = await connect(gateway.url, client);
      const { structured } = await agent.call('up.ask', { kind: 'elicitation', rounds: 3 });
      expect(structured).toMatchObject({ answers: [{ result: ELICITED }, { result: ELICITED }, { result: ELICITED }] });
      expect(up.received.filter(({ method }) => method === 'tools/call').length).toBe(era === 'modern' ? 4 : 1);
    });

    it('never puts a question to a client that declared no such capability', async () => {
      await using up = await start(script);
      await using gateway = await startGateway({ upstreams: { up: isolated(up) } });
      await using agent = await connect(gateway.url, { capabilities: {}, answers: client.answers });
      const { result, error } = await agent.request('tools/call', {
        name: 'up.ask',
        arguments: { kind: 'elicitation', always: true },
      });
      const told = JSON.stringify({ result, error });
      expect(told).not.toContain('Ada');
      expect(error?.code ?? told).toSatisfy((code: unknown) => code === -32021 || code === -32603 || told.includes('-32601'));
    });
  });
});
