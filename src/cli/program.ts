import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { LOG_LEVELS } from '../base/log.ts';
import { release } from '../base/release.ts';
import { ConfigError } from '../config/problems.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import type { GlobalOptions } from './open.ts';
import { type ServeOptions, serve } from './serve.ts';

const DEFAULT_CONFIG = 'config/gateway.yaml';

/** Builds the command line. `exit` takes the code of the command that ran. */
export function buildProgram(io: Io, exit: (code: ExitCode) => void): Command {
  const program = new Command('patchbay')
    .description('One MCP endpoint in front of all your MCP servers.')
    .version(release())
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .exitOverride();
  const run =
    <O extends GlobalOptions>(action: (options: O, io: Io) => Promise<ExitCode>) =>
    async (options: O) =>
      exit(await action(options, io));
  withGlobals(program.command('serve', { isDefault: true }).description('run the gateway (the default)'))
    .option('--json', 'print what was found as one JSON line')
    .action(run<ServeOptions>(serve));
  return program;
}

/** The options that every command has. */
export function withGlobals(command: Command): Command {
  return command
    .addOption(
      new Option('-c, --config <file>', 'configuration file').default(DEFAULT_CONFIG).env('PATCHBAY_CONFIG'),
    )
    .addOption(
      new Option('--host <host>', 'address to listen on, instead of the configured one').env('PATCHBAY_HOST'),
    )
    .addOption(
      new Option('--port <port>', 'port to listen on; 0 takes a free one')
        .env('PATCHBAY_PORT')
        .argParser(portOf),
    )
    .addOption(
      new Option('--log-level <level>', 'least severe level to log').choices(LOG_LEVELS).default('info'),
    );
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  }
  return port;
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
      io.err(`${thrown.logged ?? thrown.message}\n`);
      return EXIT.usage;
    }
    throw thrown;
  }
}
