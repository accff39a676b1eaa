import { describe, expect, it } from 'vitest';
import { alive } from '../../kit/processes.ts';
import { startStdioUpstream } from '../../kit/stdio-upstream.ts';
import { ABSENT, configFile, run } from './run.ts';

it('C-009: names each malformed item with its reason and fails, but lists the good ones', async () => {
  await using up = await startStdioUpstream({ id: 'up', tools: ['good', { title: 'nameless' }, 7] });
  await using config = await configFile({ upstreams: { up: up.config } });
  const { code, stdout, stderr } = await run(['check', '-c', config.path]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toContain('up\n  1 tool\n    up.good\n');
  expect(stdout).toContain('4 findings\n');
  expect(stdout).toContain('  2 notices: --notices shows them\n');
  expect(stdout).toMatch(/^ {2}error: up, tools, #1 \(item\.no-name\)\n {4}Left out: it has no name\. Ask /m);
  expect(stdout).toMatch(/^ {2}error: up, tools, #2 \(item\.not-an-object\)$/m);
  expect(stdout).toMatch(/\nResult: failed: 2 errors in what the servers offer\n$/);
});

it('shows every kind, and passes where what is missing is optional or off', async () => {
  await using up = await startStdioUpstream({
    id: 'up',
    tools: ['read', 'write'],
    prompts: ['greet'],
    resources: ['note://one'],
    templates: ['note://{name}'],
  });
  await using config = await configFile({
    upstreams: {
      gone: { ...ABSENT, optional: true },
      poor: { ...ABSENT, optional: true, env: { TOKEN: `\${env:NOT_SET}` } },
      off: { ...ABSENT, enabled: false },
      up: up.config,
    },
  });
  const { code, stdout } = await run(['check', '-c', config.path]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^4 upstreams\n {2}gone {2}(backoff|connecting), optional +UPSTREAM_COMMAND: /);
  expect(stdout).toMatch(/^ {2}poor {2}off, optional +upstreams\.poor\.env\.TOKEN: .*NOT_SET/m);
  expect(stdout).toMatch(/^ {2}off {3}off$/m);
  expect(stdout).toMatch(/^ {2}up {4}ready +2 tools, 1 prompt, 1 resource, 1 template \(modern\)$/m);
  expect(stdout).toContain(
    [
      'up',
      '  2 tools',
      '    up.read',
      '    up.write',
      '  1 prompt',
      '    up.greet',
      '  1 resource',
      '    note://one',
      '  1 template',
      '    note://{name}',
      '',
      '3 findings',
      '  3 notices: --notices shows them',
      '',
      'Result: ok',
      '',
    ].join('\n'),
  );
  expect(up.everyPid.filter(alive)).toEqual([]);
});

it('one that is started when it is needed is started for this, and ended again', async () => {
  await using up = await startStdioUpstream({ id: 'up', tools: ['read'] });
  await using config = await configFile({ upstreams: { up: { ...up.config, start: 'lazy' } } });
  const { code, stdout } = await run(['check', '-c', config.path]);
  expect([code, up.starts]).toEqual([0, 1]);
  expect(stdout).toMatch(/^ {2}up {2}ready +1 tool, /m);
  expect(up.everyPid.filter(alive)).toEqual([]);
});

it('C-015: fails where a list could not be read, and names it', async () => {
  await using up = await startStdioUpstream({
    id: 'up',
    tools: ['echo'],
    prompts: ['greet'],
    faults: [{ on: 'tools/list', do: { error: { code: -32000, message: 'no' } } }],
  });
  await using config = await configFile({ upstreams: { up: up.config } });
  const { code, stdout } = await run(['check', '-c', config.path]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ {2}up {2}stale {2}0 tools, 1 prompt.* its tools could not be read/m);
  expect(stdout).toMatch(/\nResult: failed: up is not ready\n$/);
});

it('fails where an upstream does not answer in time, and says what can be done', async () => {
  await using up = await startStdioUpstream({
    id: 'up',
    tools: ['echo'],
    faults: [{ on: 'tools/list', do: { silence: true } }],
  });
  const timeouts = { connect: '300ms', probe: '300ms' };
  await using config = await configFile({ upstreams: { up: { ...up.config, timeouts } } });
  const { code, stdout } = await run(['check', '-c', config.path]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^ {2}up {2}(connecting|backoff) {2}\S/m);
});

it('C-002, C-005: shows shortened and collided names, and the strict form beside the dotted one', async () => {
  const long = 'n'.repeat(140);
  await using up = await startStdioUpstream({ id: 'up', tools: [long, 'a.b', 'a_b'] });
  await using config = await configFile({ upstreams: { up: up.config } });
  const { code, stdout } = await run(['check', '-c', config.path, '--strict-names', '--notices']);
  expect(code).toBe(0);
  expect(stdout).toContain(`warning: up, tools, ${long} (name.shortened)\n`);
  expect(stdout).toMatch(/^ {4}up\.a\.b +up__a_b_[a-z2-7]{8}$/m);
  expect(stdout).toMatch(
    /notice: up, tools, a\.b \(name\.collided\)\n {4}Another one would have the same name\./,
  );
  expect(stdout.indexOf('warning:')).toBeLessThan(stdout.indexOf('notice:'));
});

it('reports every mistake of the configuration at once, with --json on stdout too', async () => {
  await using config = await configFile('nam: x\nupstreams:\n  a: { comand: x }\n');
  const asText = await run(['check', '-c', config.path]);
  expect(asText).toMatchObject({ code: 2, stdout: '' });
  expect(asText.stderr).toContain(`${config.path}:1:1 nam: unknown key (did you mean "name"?)`);
  expect(asText.stderr).toContain('upstreams.a.comand');
  const asJson = await run(['check', '-c', config.path, '--json']);
  expect(asJson).toMatchObject({ code: 2, stderr: asText.stderr });
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    ok: false,
    problems: expect.arrayContaining([expect.objectContaining({ path: 'nam', line: 1, nearest: 'name' })]),
  });
});

it('counts the upstreams that were tried, where a person looks', async () => {
  await using up = await startStdioUpstream({ id: 'up' });
  await using config = await configFile({ upstreams: { gone: ABSENT, up: up.config } });
  const { stdout, stderr } = await run(['check', '-c', config.path], { readable: true });
  expect(stderr).toMatch(/^connecting 0\/2 …\rconnecting 1\/2 …\r(connecting 2\/2 …\r)? +\r$/);
  expect(stdout).not.toContain('connecting');
});

describe('check --against', () => {
  it('says what a running gateway would change, and what it could not', async () => {
    await using running = await configFile({ upstreams: {}, lists: { maxTtl: '5s' } });
    await using next = await configFile({ upstreams: {}, name: 'other' });
    const text = await run(['check', '-c', next.path, '--against', running.path]);
    expect(text.code).toBe(0);
    expect(text.stdout).toContain(
      'A reload\n  other keys: lists.maxTtl\n  keep their values until the gateway is started again: name\n',
    );
    const same = await run(['check', '-c', next.path, '--against', next.path]);
    expect(same.stdout).toContain('A reload\n  nothing would change\n');
  });

  it('fails where a reload would be refused, and where the other configuration is not valid', async () => {
    const open = { host: '0.0.0.0' };
    await using running = await configFile({ upstreams: {}, listen: open, auth: { allowAnonymous: true } });
    await using next = await configFile({ upstreams: {} });
    const refused = await run(['check', '-c', next.path, '--against', running.path, '--json']);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      ok: false,
      changes: { needRestart: ['listen.host'], refused: [expect.stringContaining('listen.host')] },
    });
    await using broken = await configFile('nmae: x');
    expect((await run(['check', '-c', next.path, '--against', broken.path])).code).toBe(2);
  });
});
