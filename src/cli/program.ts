import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { nearest } from '../base/nearest.ts';
import { release } from '../base/release.ts';
import { ConfigError } from '../config/problems.ts';
import { type CallOptions, call } from './call.ts';
import { type CheckOptions, check } from './check.ts';
import { type Action, examples, type Run } from './declare-command.ts';
import { addExplain } from './explain-command.ts';
import { withGlobals } from './global-options.ts';
import { addConnect, addImport } from './import-connect-commands.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type ItemsCommand, type ItemsOptions, listing } from './items.ts';
import { keysNew, type NewKeyOptions } from './keys.ts';
import type { GlobalOptions } from './open.ts';
import { type PinOptions, pin } from './pin.ts';
import { type ServeOptions, serve } from './serve.ts';
import { type StdioCommandOptions, stdio } from './stdio.ts';
import { addUsage } from './usage-command.ts';

/**
 * Builds the command line: the one declaration that `--help` and docs/cli.md are made from. `exit` takes the code of
 * the command that ran.
 *
 * @internal exported for the page and the tests
 */
export function buildProgram(io: Io, exit: (code: ExitCode) => void): Command {
  const program = withGlobals(new Command('patchbay'))
    .description('One MCP endpoint in front of all your MCP servers.')
    .version(release())
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  const run: Run =
    <O extends GlobalOptions>(action: Action<O>, logLevel: GlobalOptions['logLevel'] = 'warn') =>
    async (command) => {
      const options = command.optsWithGlobals<O>();
      exit(await action(options.logLevel === undefined ? { ...options, logLevel } : options, io));
    };
  addServe(program, run);
  addCheck(program, run);
  addPin(program, run);
  addListing(program, run, 'tools');
  addListing(program, run, 'prompts');
  addListing(program, run, 'resources');
  addCall(program, run);
  addExplain(program, run);
  addUsage(program, run);
  addStdio(program, run);
  addKeys(program, run);
  addImport(program, run);
  addConnect(program, run);
  return program;
}

function addServe(program: Command, run: Run): void {
  const start = run<ServeOptions>(serve, 'info');
  program
    .command('serve', { isDefault: true })
    .summary('run the gateway (the default)')
    .description(
      'Runs the gateway until it gets SIGINT or SIGTERM. Reads its configuration again when one of its files changes, and at ' +
        'SIGHUP: what did not change in it is not disturbed, and one that is not valid changes nothing.',
    )
    .option('--json', 'print what was found as one JSON line, and one for each reload')
    .option('--no-watch', 'do not watch the files of the configuration; SIGHUP alone reads them again')
    .addHelpText('after', examples('patchbay', 'patchbay serve -c team.yaml --port 8080'))
    .allowExcessArguments()
    .action((_: unknown, command: Command) => {
      refuseWords(command, program);
      return start(command);
    });
}

/** The default command takes no argument, so a word that arrives at it was meant to be a command. */
function refuseWords(command: Command, program: Command): void {
  const [word] = command.args;
  if (word !== undefined) {
    const meant = nearest(
      word,
      program.commands.map((each) => each.name()),
    );
    program.error(
      `error: unknown command '${word}'${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}`,
    );
  }
}

function addCheck(program: Command, run: Run): void {
  const start = run<CheckOptions>(check);
  program
    .command('check')
    .summary('try the configuration and show what it leads to')
    .description(
      'Reads the configuration, connects to every upstream without opening a port, and prints their state, the ' +
        'merged catalog, everything odd in what the servers say of themselves, and how that differs from what is ' +
        'approved in patchbay.lock.json. Fails where an upstream that is not optional is not ready, or where a finding ' +
        'is an error.',
    )
    .addOption(
      new Option('--fail-on <severity>', 'the least grave findings to fail on')
        .choices(['warning', 'error'])
        .default('error'),
    )
    .option('--notices', 'show every notice, instead of how many there are')
    .option(
      '--hints',
      'show what every tool says of itself: whether it only reads, destroys, can be repeated',
    )
    .option(
      '--tokens',
      'count what definitions of tools cost a model: each server’s, and what each view lists',
    )
    .option('--json', 'print the report as JSON, mistakes in the configuration too')
    .option('--strict-names', 'show the strict form of each name beside the dotted one')
    .option(
      '--against <file>',
      'show what this configuration would change for a gateway that runs by that one; fails where it could not take it',
    )
    .option(
      '--diff <url>',
      'show what this configuration and its servers would change for the gateway that runs there; with --fail-on warning it ' +
        'fails where clients would lose something',
    )
    .option('--token-env <variable>', 'variable that holds the token or key of an operator, for --diff')
    .addHelpText(
      'after',
      examples(
        'patchbay check -c team.yaml',
        'patchbay check --json | jq .findings',
        'patchbay check --fail-on warning',
        'patchbay check -c new.yaml --against team.yaml',
        'patchbay check -c new.yaml --diff http://127.0.0.1:3333 --token-env OPERATOR_KEY',
      ),
    )
    .action((_: unknown, command: Command) => start(command));
}

function addPin(program: Command, run: Run): void {
  const start = run<PinOptions>(pin);
  program
    .command('pin')
    .summary('approve what the servers offer')
    .description(
      'Connects to every upstream and compares its tools, prompts and resource templates with patchbay.lock.json beside ' +
        'the configuration. Where there is no such file it is written, with all there is. Where there is one, what ' +
        'differs is printed, and written only for what --approve names. Fails where a difference is left.',
    )
    .addOption(
      new Option(
        '--approve <name...>',
        'approve these as they are now, or that they are gone: <server>.<name>, with * and ? as in rules',
      ),
    )
    .option('--json', 'print what was done and what differs as JSON')
    .addHelpText(
      'after',
      examples('patchbay pin', 'patchbay pin --approve files.read_file', "patchbay pin --approve 'files.*'"),
    )
    .action((_: unknown, command: Command) => start(command));
}

const LISTED: Readonly<Record<ItemsCommand, string>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources and resource templates',
};

function addListing(program: Command, run: Run, name: ItemsCommand): void {
  const start = run<ItemsOptions>(listing(name));
  program
    .command(name)
    .summary(`list the ${LISTED[name]}`)
    .description(
      `Lists the ${LISTED[name]} that clients are offered. Fails where an upstream that is not optional could not be ` +
        'read; what the others offer is listed all the same.',
    )
    .option('--json', 'print them as JSON, as the gateway lists them')
    .addOption(
      new Option('--names <style>', 'style of the names, instead of the configured one').choices([
        'dotted',
        'strict',
      ]),
    )
    .option('--upstream <id>', 'only those of one upstream, which is then needed, optional or not')
    .addHelpText('after', examples(`patchbay ${name}`, `patchbay ${name} --upstream files --json`))
    .action((_: unknown, command: Command) => start(command));
}

function addCall(program: Command, run: Run): void {
  program
    .command('call')
    .summary('call one tool')
    .description(
      'Calls one tool and prints its result; progress goes to stderr. Fails where the tool or the protocol reports ' +
        'an error: as text the error goes to stderr, with --json to stdout.',
    )
    .argument('<name>', 'name of the tool, dotted or strict')
    .argument('[json]', 'arguments as a JSON object; - reads them from stdin', '{}')
    .option('--json', 'print the whole result as JSON')
    .addHelpText(
      'after',
      examples(
        `patchbay call files.list_directory '{"path": "/data"}'`,
        'patchbay call memory.create_entities - < entities.json',
      ),
    )
    .action((name: string, args: string, _: unknown, command: Command) =>
      run<CallOptions>((options, io) => call({ name, args }, options, io))(command),
    );
}

function addStdio(program: Command, run: Run): void {
  const start = run<StdioCommandOptions>(stdio);
  program
    .command('stdio')
    .summary('serve one client over stdin and stdout')
    .description(
      'Serves one client over stdin and stdout, for hosts that start their servers themselves. Ends when the client ' +
        'closes stdin; logs go to stderr.',
    )
    .option('--json', 'log as JSON lines, at a terminal too')
    .addOption(
      new Option('--names <style>', 'style of the names, instead of the configured one').choices([
        'dotted',
        'strict',
      ]),
    )
    .option('--upstream <id>', 'serve one upstream alone, under its own names')
    .addHelpText('after', examples('patchbay stdio -c team.yaml --names strict'))
    .action((_: unknown, command: Command) => start(command));
}

function addKeys(program: Command, run: Run): void {
  program
    .command('keys')
    .summary('make keys for clients')
    .description('Makes keys for `auth.mode: keys`.')
    .command('new')
    .summary('make a key')
    .description(
      'Makes a key for `auth.mode: keys` and prints it with its line for the configuration. The key is shown this once ' +
        'and kept nowhere: the configuration has its SHA-256 alone. No configuration is read or written.',
    )
    .argument('<id>', 'who will use it: the id that rules and logs name')
    .option('--json', 'print the key and its entry as JSON')
    .option('--groups <list>', 'groups of whoever uses it, with commas between', listOf)
    .option('--scopes <list>', 'scopes of whoever uses it, with commas between', listOf)
    .addHelpText('after', examples('patchbay keys new ann --groups admins,eng'))
    .action((id: string, _: unknown, command: Command) =>
      run<NewKeyOptions & GlobalOptions>((options, io) => keysNew(id, options, io))(command),
    );
}

function listOf(text: string): readonly string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.includes('')) {
    throw new InvalidArgumentError('Give names with commas between.');
  }
  return entries;
}

/** Runs one command line and resolves with its exit code: 0 ok, 1 failed, 2 wrong usage or configuration. */
export async function runCli(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = buildProgram(io, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) {
      return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    if (thrown instanceof ConfigError) {
      io.err(`${thrown.logged ?? thrown.message}\n${isMissingFile(thrown) ? MISSING_FILE : ''}`);
      return EXIT.usage;
    }
    throw thrown;
  }
}

const MISSING_FILE = 'Name a configuration with --config FILE or PATCHBAY_CONFIG.\n';

function isMissingFile({ cause }: ConfigError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}
