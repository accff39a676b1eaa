import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authFor } from '../../e2e/access-world.ts';
import { startHttpUpstream } from '../../kit/http-upstream.ts';
import { type StartedGateway, startGateway } from '../../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../../kit/upstream.ts';
import { configFile, run } from './run.ts';

/** `explain`, and `check --diff`: by servers that are started for it, and by a gateway that runs. */

const scope = new AsyncDisposableStack();
let up: ScriptedUpstream;
let gateway: StartedGateway;
const SEALING = Buffer.alloc(32, 3).toString('base64');
const env = { OPERATOR_KEY: 'key-of-ops', USER_KEY: 'key-of-ann' };

const fileOf = (upstream: object, more: object = {}) =>
  configFile({
    auth: authFor({ ops: { groups: ['ops'] }, ann: { groups: ['eng'] } }),
    operators: { groups: ['ops'] },
    access: [
      { who: { groups: ['eng'] }, allow: ['up.read'], scopes: ['files:read'] },
      { who: { groups: ['ops'] }, allow: ['*'] },
    ],
    upstreams: { up: upstream },
    ...more,
  });

beforeAll(async () => {
  const tools = ['read', 'write', 'count'];
  up = scope.use(await startHttpUpstream({ id: 'up', tools, hints: { cacheScope: 'public' } }));
  const config = {
    sealingKey: SEALING,
    auth: authFor({ ops: { groups: ['ops'] }, ann: { groups: ['eng'] } }),
    operators: { groups: ['ops'] },
    access: [{ who: { groups: ['ops'] }, allow: ['*'] }],
    upstreams: { up: { ...up.config, headers: { 'X-Pin': '1234' } }, old: { url: 'http://127.0.0.1:9/mcp' } },
  };
  gateway = scope.use(await startGateway(config));
  await gateway.gateway.settled();
});

afterAll(() => scope.disposeAsync());

describe('explain', () => {
  it('says what a name leads to and why, and fails where a call would not get through', async () => {
    await using config = await fileOf(up.config);
    const told = await run(['explain', 'up.read', '--as', 'group:ops', '-c', config.path]);
    expect([told.code, told.stderr]).toEqual([0, '']);
    expect(told.stdout).toMatch(
      /^up\.read for group:ops at \/mcp\nIt goes to up as "read", by rule 2 \(line \d+\)\.\n/,
    );
    expect(told.stdout).toMatch(/^ {2}tool +up: read$/m);
    expect(told.stdout).toMatch(/^ {2}names +up\.read, strict up__read, at \/mcp\/up read$/m);
    expect(told.stdout).toMatch(/^ {2}list +everybody's, read \d+m?s ago, ttl 0 public of its server/m);
    const refused = await run(['explain', 'up.read', '--as', 'ann', '--json', '-c', config.path]);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      verdict: 'scopes',
      access: { lacks: ['files:read'] },
    });
  });

  it('for nobody in particular it names every rule about it', async () => {
    await using config = await fileOf(up.config);
    const { stdout } = await run(['explain', 'up.read', '-c', config.path]);
    expect(stdout).toMatch(
      /rule 1 \(line \d+\) allows it to groups eng\n +rule 2 \(line \d+\) allows it to groups ops$/m,
    );
  });

  it('helps with a name that is not there, and lets no escape sequence reach the terminal', async () => {
    await using config = await fileOf(up.config);
    const wrong = await run(['explain', 'up.raed', '-c', config.path]);
    expect([wrong.code, wrong.stdout]).toEqual([
      1,
      'up.raed at /mcp\nIt is not there: nothing has this name.\nDid you mean "up.read"?\n',
    ]);
    const odd = await run(['explain', 'up.\u001b[31mred', '-c', config.path]);
    expect(odd.stdout).toMatch(/^up\.red at /);
  });

  it.each([
    ['--as', 'key:nobody'],
    ['--as', '{"groups":"eng"}'],
    ['--view', 'nowhere'],
    ['--kind', 'tool'],
  ])('starts nothing where it cannot be asked with %s %s', async (...args) => {
    await using config = await fileOf({ command: 'there-is-no-such-command' });
    const { code, stdout, stderr } = await run(['explain', 'x', ...args, '-c', config.path]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: /);
  });

  it('asks a gateway that runs, as an operator', async () => {
    const at = (variable: string, url = gateway.url) =>
      run(['explain', 'up.read', '--as', 'ann', '--url', url, '--token-env', variable], { env });
    const told = await at('OPERATOR_KEY');
    expect([told.code, told.stderr]).toEqual([1, '']);
    expect(told.stdout).toContain('It is there, but hidden for this principal: no rule allows it');
    expect(await at('USER_KEY')).toMatchObject({ code: 1, stderr: expect.stringContaining('refuses (403)') });
    expect(await at('UNSET')).toMatchObject({ code: 2, stderr: expect.stringContaining('UNSET is not set') });
    expect(await at('OPERATOR_KEY', 'ftp://127.0.0.1')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not an http or https URL'),
    });
    expect(await at('OPERATOR_KEY', 'http://127.0.0.1:9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be reached'),
    });
    expect(await at('OPERATOR_KEY', up.config['url'] as string)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no gateway that can be asked this'),
    });
  });
});

describe('check --diff', () => {
  const diff = (path: string, ...more: readonly string[]) =>
    run(['check', '-c', path, '--diff', gateway.origin, '--token-env', 'OPERATOR_KEY', ...more], { env });

  it('says what a reload would do to the running gateway, and what clients would notice', async () => {
    await using next = await startHttpUpstream({
      id: 'up',
      tools: ['read', { name: 'count', description: 'other' }, 'fresh'],
    });
    const tools = { rename: { read: 'fetch' } };
    await using config = await fileOf(
      { ...next.config, headers: { 'X-Pin': '1234' }, tools },
      { sealingKey: SEALING },
    );
    const { code, stdout } = await diff(config.path);
    expect(code).toBe(0);
    expect(stdout).toContain('The running gateway\n  removed: old\n  started anew: up\n');
    expect(stdout).toMatch(/^ {2}other keys: .*access/m);
    expect(stdout).toMatch(/^ {2}\+ tools: up\.fresh$/m);
    expect(stdout).toMatch(/^ {2}- tools: up\.write$/m);
    expect(stdout).toMatch(/^ {2}~ tools: up\.fetch \(broken\): it is called up\.read now$/m);
    expect(stdout).toMatch(/^ {2}~ tools: up\.count \(broken\): \/description /m);
    expect(stdout).not.toContain('not compared');
    const strict = await diff(config.path, '--fail-on', 'warning', '--json');
    expect(strict.code).toBe(1);
    expect(JSON.parse(strict.stdout).running.upstreams).toEqual({
      added: [],
      removed: ['old'],
      restarted: ['up'],
      changed: [],
    });
  });

  it('without the sealing key of the gateway it names what it cannot compare, and takes nothing for changed', async () => {
    await using config = await fileOf(
      { ...up.config, headers: { 'X-Pin': '9999' } },
      { sealingKey: Buffer.alloc(32, 7).toString('base64') },
    );
    const { stdout } = await diff(config.path, '--json');
    const { running } = JSON.parse(stdout);
    expect(running.upstreams).toEqual({ added: [], removed: ['old'], restarted: [], changed: [] });
    expect(running.uncompared).toEqual(
      expect.arrayContaining(['upstreams.up.headers', 'upstreams.up.url', 'sealingKey']),
    );
    expect(running.catalog).toMatchObject({ appears: [], vanishes: [], changes: [] });
  });

  it('fails where the gateway cannot be asked', async () => {
    await using config = await fileOf(up.config);
    const { code, stdout, stderr } = await run(['check', '-c', config.path, '--diff', gateway.origin], {
      env,
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/refuses \(401\).*--token-env/);
    expect(await run(['check', '-c', config.path, '--diff', 'nowhere'], { env })).toMatchObject({
      code: 2,
      stdout: '',
    });
  });
});
