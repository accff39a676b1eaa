import { describe, expect, it } from 'vitest';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';
import { ABSENT, configFile, run } from './run.ts';

describe('call', () => {
  it('takes arguments from the command line, from stdin, or none, and a name in either style', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using config = await configFile({ upstreams: { up: up.config } });
    const at = ['-c', config.path];
    expect(await run(['call', 'up.echo', '{"a": 1}', ...at])).toEqual({
      code: 0,
      stdout: '{"a":1}\n',
      stderr: '',
    });
    const piped = await run(['call', 'up__echo', '-', ...at], { stdin: '{"b": "ü"}' });
    expect(piped).toMatchObject({ code: 0, stdout: '{"b":"ü"}\n' });
    expect(await run(['call', 'up.echo', ...at])).toMatchObject({ code: 0, stdout: '{}\n' });
  });

  it('refuses arguments that are no JSON object before it starts anything', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using config = await configFile({ upstreams: { up: up.config } });
    const at = ['-c', config.path];
    const refused = (why: string) => ({ code: 2, stdout: '', stderr: `error: the arguments ${why}\n` });
    expect(await run(['call', 'up.echo', '{"a": 1,\n "b": x}', ...at])).toEqual(
      refused('are not valid JSON: line 2, column 7: a value should be here'),
    );
    expect(await run(['call', 'up.echo', '-', ...at], { stdin: '' })).toEqual(
      refused('are not valid JSON: line 1, column 1: it ends where a value should be'),
    );
    expect(await run(['call', 'up.echo', '[1]', ...at])).toEqual(
      refused('must be a JSON object, such as {"a": 1}'),
    );
    expect(up.starts).toBe(0);
  });

  it('puts a failure to stderr, and with --json the whole answer to stdout', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['fail', 'rpc-error'] });
    await using config = await configFile({ upstreams: { up: up.config } });
    const at = ['-c', config.path];
    expect(await run(['call', 'up.fail', '{"text": "bad"}', ...at])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'bad\n',
    });
    expect(await run(['call', 'up.rpc-error', ...at])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error -32000: scripted error\n',
    });
    const failed = await run(['call', 'up.fail', '--json', ...at]);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ isError: true, content: [{ text: 'it failed' }] });
    const refused = await run(['call', 'up.rpc-error', '--json', ...at]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toEqual({ error: { code: -32000, message: 'scripted error' } });
  });

  it('prints progress to stderr, and the result to stdout', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['progress'] });
    await using config = await configFile({ upstreams: { up: up.config } });
    expect(await run(['call', 'up.progress', '{"steps": 2}', '-c', config.path])).toEqual({
      code: 0,
      stdout: '{"steps":2}\n',
      stderr: 'progress 1/2 step 1\nprogress 2/2 step 2\n',
    });
  });

  it('keeps the control sequences of a server from a terminal, and the exact text for a pipe', async () => {
    const result = { content: [{ type: 'text', text: 'a\u001b]0;title\u0007\n\tb\u202e' }] };
    await using up = await startStdioUpstream({
      id: 'up',
      tools: ['odd'],
      calls: { odd: { does: 'raw', result } },
    });
    await using config = await configFile({ upstreams: { up: up.config } });
    const call = ['call', 'up.odd', '-c', config.path];
    expect((await run(call, { columns: 80 })).stdout).toBe('a\n\tb\n');
    expect((await run(call)).stdout).toBe('a\u001b]0;title\u0007\n\tb\u202e\n');
  });

  it('names what may have been meant by an unknown name, and who is missing', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using config = await configFile({ upstreams: { gone: ABSENT, up: up.config } });
    const { code, stdout, stderr } = await run(['call', 'echo', '-c', config.path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error -32602: .*\nDid you mean "up\.echo"\?\ngone is not ready .*\n$/);
  });
});
