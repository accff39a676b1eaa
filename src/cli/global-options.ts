import { type Command, InvalidArgumentError, Option } from 'commander';
import { LOG_LEVELS } from '../base/log.ts';

const DEFAULT_CONFIG = 'config/gateway.yaml';

/** An empty variable is what Compose and Kubernetes make of one that was never set: it says nothing. */
function orFrom(variable: string, option: Option): Option {
  return process.env[variable] === '' ? option : option.env(variable);
}

/** The options that every command takes, before its name or after it. */
export function withGlobals(program: Command): Command {
  return program
    .addOption(
      orFrom('PATCHBAY_CONFIG', new Option('-c, --config <file>', 'configuration file')).default(
        DEFAULT_CONFIG,
      ),
    )
    .addOption(
      orFrom(
        'PATCHBAY_HOST',
        new Option('--host <host>', 'address to listen on, instead of the configured one'),
      ),
    )
    .addOption(
      orFrom(
        'PATCHBAY_PORT',
        new Option('--port <port>', 'port to listen on, instead of the configured one; 0 takes a free one'),
      ).argParser(portOf),
    )
    .addOption(
      new Option(
        '--log-level <level>',
        'least severe level to log to stderr; default: info for serve, warn for all others',
      ).choices(LOG_LEVELS),
    );
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  }
  return port;
}
