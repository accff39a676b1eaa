import { describe, expect, it } from 'vitest';
import { tokenizer } from '../../src/relay/find-tokens.ts';
import { startStdioUpstream } from '../kit/stdio-upstream.ts';
import { configFile, run } from '../unit/cli/run.ts';

describe('tokens', () => {
  it('are counted of any text, also of one that looks like a sign to a model', async () => {
    const count = await tokenizer();
    expect(count('hello world')).toBe(2);
    expect(count('')).toBe(0);
    expect(count('<|endoftext|>')).toBeGreaterThan(1);
    // One run without a break: by the square of its length this would take minutes.
    expect(count('a'.repeat(300_000))).toBeGreaterThan(30_000);
  });

  it('check --tokens tells what servers and views cost, and where the rest is', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['one', 'two', 'three'] });
    await using config = await configFile({
      views: {
        few: { mode: 'search', pinned: ['up.one'] },
        tight: { maxTokens: 600, include: ['up.*'] },
        none: { maxTokens: 1 },
      },
      upstreams: { up: up.config },
    });
    const { code, stdout } = await run(['check', '--tokens', '-c', config.path]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Tokens of the definitions of tools \(o200k_base\)\n {2}up {2}3 tools {2}\d+$/m);
    expect(stdout).toMatch(/^ {2}default +list +\d+ in a list of 3$/m);
    expect(stdout).toMatch(
      /^ {2}few +search +\d+ in a list of 4 +3 tools of \d+ in all, found by search_tools$/m,
    );
    expect(stdout).toMatch(/^ {2}tight +list +\d+ in a list of 3 +at most 600$/m);
    expect(stdout).toMatch(
      /^ {2}none +list +\d+ in a list of 3 +at most 1; 3 tools .* found by search_tools$/m,
    );
    const { tokens } = JSON.parse((await run(['check', '--tokens', '--json', '-c', config.path])).stdout);
    expect(tokens.views.few).toMatchObject({
      mode: 'search',
      tools: 3,
      listed: 1,
      own: 3,
      all: tokens.views.default.tokens,
    });
  });
});
