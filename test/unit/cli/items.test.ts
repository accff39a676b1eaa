import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { connectModern } from '../../kit/modern-agent.ts';
import { startGateway } from '../../kit/start-gateway.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';
import { ABSENT, configFile, run } from './run.ts';

const SCRIPT = {
  id: 'up',
  tools: [
    { name: 'read', title: 'Read', description: '\nReads.\nLong text.', inputSchema: { type: 'object' } },
    { name: '読む', description: 'Reads, in another script.', inputSchema: { type: 'object' } },
  ],
  prompts: ['greet'],
  resources: [{ uri: 'note://one', name: 'one', mimeType: 'text/plain' }],
  templates: [{ uriTemplate: 'note://{id}', name: 'any', description: 'Any\u001b[2J note' }],
};

describe('tools, prompts, resources', () => {
  it('lists what there is, one line each, free of control sequences', async () => {
    await using up = await startStdioUpstream(SCRIPT);
    await using config = await configFile({ upstreams: { up: up.config } });
    expect(await run(['tools', '-c', config.path])).toEqual({
      code: 0,
      stdout: 'up: 2 tools\n  up.read  Read: Reads.\n  up.読む  Reads, in another script.\n',
      stderr: '',
    });
    expect((await run(['prompts', '-c', config.path])).stdout).toBe(
      'up: 1 prompt\n  up.greet  Prompt greet\n',
    );
    expect((await run(['resources', '-c', config.path])).stdout).toBe(
      'up: 1 resource, 1 template\n  note://one   text/plain  one\n  note://{id}              any: Any note\n',
    );
  });

  it('cuts the last column to the width of the terminal', async () => {
    await using up = await startStdioUpstream(SCRIPT);
    await using config = await configFile({ upstreams: { up: up.config } });
    const { stdout } = await run(['tools', '-c', config.path], { columns: 32 });
    expect(stdout).toBe('up: 2 tools\n  up.read  Read: Reads.\n  up.読む  Reads, in another sc…\n');
  });

  it('prints as JSON what the gateway lists', async () => {
    await using up = await startStdioUpstream(SCRIPT);
    const upstreams = { up: up.config };
    await using config = await configFile({ upstreams });
    const tools = await run(['tools', '--json', '-c', config.path]);
    const resources = await run(['resources', '--json', '-c', config.path]);
    await using gateway = await startGateway({ upstreams });
    await using agent = await connectModern(gateway.url);
    expect(JSON.parse(tools.stdout)).toEqual(await agent.list('tools'));
    expect(JSON.parse(resources.stdout)).toEqual([
      ...(await agent.list('resources')),
      ...(await agent.list('templates')),
    ]);
  });

  it('fails where an upstream is down, says so, and prints the others all the same', async () => {
    await using up = await startStdioUpstream({ id: 'up', tools: ['echo'] });
    await using config = await configFile({
      upstreams: { gone: ABSENT, spare: { ...ABSENT, optional: true }, up: up.config },
    });
    const all = await run(['tools', '--json', '-c', config.path]);
    expect(all.code).toBe(1);
    expect(JSON.parse(all.stdout)).toMatchObject([{ name: 'up.echo' }]);
    expect(all.stderr).toMatch(
      /^gone is not ready \(\w+\): UPSTREAM_COMMAND: .*\nspare is not ready \(\w+\), but optional: .*\n$/,
    );
    expect(await run(['tools', '-c', config.path, '--upstream', 'up'])).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  it('takes an optional upstream as needed when it is asked for by its id', async () => {
    await using config = await configFile({ upstreams: { spare: { ...ABSENT, optional: true } } });
    expect(await run(['tools', '-c', config.path])).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await run(['tools', '-c', config.path, '--upstream', 'spare']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'There are no tools.\n' });
    expect(stderr).toContain('spare is not ready');
  });

  it('knows both styles of names, and one upstream alone', async () => {
    await using a = await startStdioUpstream({ id: 'a', tools: ['x.y'] });
    await using b = await startStdioUpstream({ id: 'b', tools: ['z'] });
    await using config = await configFile({ upstreams: { alpha: a.config, beta: b.config } });
    const names = async (...args: string[]) => {
      const { stdout } = await run(['tools', '--json', '-c', config.path, ...args]);
      return (JSON.parse(stdout) as JsonObject[]).map(({ name }) => name);
    };
    expect(await names('--names', 'strict')).toEqual(['alpha__x_y', 'beta__z']);
    expect(await names('--upstream', 'beta')).toEqual(['beta.z']);
  });

  it('starts nothing for an upstream that the configuration does not have', async () => {
    await using up = await startStdioUpstream({ id: 'up' });
    await using config = await configFile({ upstreams: { files: up.config } });
    expect(await run(['tools', '-c', config.path, '--upstream', 'fils'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: there is no upstream "fils" in the configuration (did you mean "files"?)\n',
    });
    expect(up.starts).toBe(0);
  });
});
