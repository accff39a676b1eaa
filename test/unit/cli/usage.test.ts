import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../../src/cli/program.ts';
import { configFile, run } from './run.ts';

const nowhere = () => {};
const program = buildProgram(
  {
    main: '/opt/patchbay/main.js',
    env: {},
    out: nowhere,
    err: nowhere,
    readable: false,
    input: async () => '',
    columns: undefined,
    stopped: () => new Promise(nowhere),
    serving: nowhere,
    onHangup: nowhere,
  },
  nowhere,
);

/** Each command that does something, with the words it is called by. */
const commands = program.commands.flatMap((command) =>
  command.commands.length === 0
    ? [[command.name(), command] as const]
    : command.commands.map((inner) => [`${command.name()} ${inner.name()}`, inner] as const),
);

describe('help', () => {
  it.each(commands)(
    'patchbay %s --help names every option and argument, and has an example',
    async (name, command) => {
      const { code, stdout, stderr } = await run([...name.split(' '), '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const options = [...command.options, ...program.options].map(({ flags }) => flags);
      const args = command.registeredArguments.map((argument) => argument.description);
      expect(options).toContain('--json');
      expect(options).toContain('-c, --config <file>');
      for (const word of [...options, ...args, `Examples:\n  patchbay`]) {
        expect(stdout.replaceAll(/\n {3,}/g, ' ')).toContain(word);
      }
    },
  );

  it('patchbay --help names every command', async () => {
    const { code, stdout } = await run(['--help']);
    expect(code).toBe(0);
    for (const { name, summary } of program.commands.map((each) => ({
      name: each.name(),
      summary: each.summary(),
    }))) {
      expect(stdout).toMatch(new RegExp(`^  ${name} .* {2}${summary.replaceAll(/[()]/g, '\\$&')}$`, 'm'));
    }
  });
});

describe('wrong usage', () => {
  it.each([
    [['chek'], 'Did you mean check?'],
    [['serve', 'check'], "unknown command 'check'"],
    [['check', '--jsn'], 'Did you mean --json?'],
    [['check', 'x'], 'too many arguments'],
    [['call'], "missing required argument 'name'"],
    [['keys', 'new'], "missing required argument 'id'"],
    [['keys', 'new', ' '], 'the id must not be empty'],
    [['keys', 'new', 'ann', '--groups', 'a,,b'], 'Give names with commas between.'],
    [['tools', '--names', 'fancy'], 'Allowed choices are dotted, strict.'],
    [['check', '--port', '70000'], 'A port is a number from 0 to 65535.'],
    [['check', '--log-level', 'loud'], 'Allowed choices are trace, '],
    [
      ['check', '-c', 'nowhere.yaml'],
      'nowhere.yaml: there is no such file\nName a configuration with --config',
    ],
    [['call', 'x', '-c', 'nowhere.yaml'], 'nowhere.yaml: there is no such file'],
  ])('patchbay %j exits with 2 and a hint', async (args, hint) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(hint);
  });
});

describe('global options', () => {
  it('may stand before the command or after it', async () => {
    await using config = await configFile({ upstreams: {} });
    expect(await run(['-c', config.path, 'tools', '--json'])).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(await run(['tools', '-c', config.path])).toMatchObject({
      code: 0,
      stdout: 'There are no tools.\n',
    });
  });
});
