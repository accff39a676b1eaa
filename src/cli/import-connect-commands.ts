import { type Command, Option } from 'commander';
import { FORMAT_NAMES } from '../hosts/formats.ts';
import { HOST_NAMES, type HostName } from '../hosts/host-table.ts';
import { type ConnectOptions, connect } from './connect.ts';
import { examples, type Run } from './declare-command.ts';
import { type ImportOptions, importFiles } from './import.ts';
import type { GlobalOptions } from './open.ts';

export function addImport(program: Command, run: Run): void {
  program
    .command('import')
    .summary('take over the servers of an IDE')
    .description(
      'Prints the servers that files of IDEs, agents, Docker catalogs or the MCP registry declare, as a configuration of ' +
        'the gateway. Nothing is started, looked up or written; references stay references, and secrets that stand in ' +
        'the files become references too. Whatever is left out or changed is said on stderr and beside the entry.',
    )
    .argument('<file...>', 'files to import; several become one configuration')
    .option('--json', 'print configuration, notices and mistakes as JSON')
    .addOption(
      new Option('--from <format>', 'what the files are, instead of what they look like').choices(
        FORMAT_NAMES,
      ),
    )
    .addHelpText(
      'after',
      examples(
        'patchbay import ~/.cursor/mcp.json > config/gateway.yaml',
        'patchbay import .mcp.json .vscode/mcp.json',
        'patchbay import catalog.yaml registry.yaml config.yaml',
      ),
    )
    .action((files: readonly string[], _: unknown, command: Command) =>
      run<ImportOptions & GlobalOptions>((options, io) => importFiles(files, options, io))(command),
    );
}

export function addConnect(program: Command, run: Run): void {
  program
    .command('connect')
    .summary('connect an IDE to this gateway')
    .description(
      'Prints what an IDE needs to reach this gateway, or with --write puts it into the file of that IDE: the ' +
        'difference is shown first, everything else in the file stays as it is, and a backup is kept beside it.',
    )
    .addArgument(program.createArgument('<ide>', 'the IDE').choices(HOST_NAMES))
    .option('--json', 'print what is printed as JSON')
    .option('--write', 'write the entry into the file of the IDE')
    .option('--undo', 'take the last --write back')
    .option('--yes', 'do not ask before writing')
    .option('--file <path>', 'another file than the one that the IDE reads for its user')
    .option('--url <url>', 'URL of a gateway elsewhere; then no configuration is read')
    .option('--view <name>', 'a view, or one upstream alone, instead of everything')
    .option('--name <name>', 'name of the entry; default: patchbay')
    .addOption(
      new Option('--names <style>', 'style of the names, instead of what the IDE can stand').choices([
        'dotted',
        'strict',
      ]),
    )
    .option('--stdio', 'have the IDE start a gateway of its own instead of reaching this one over HTTP')
    .option('--token', 'have it send a key; that is so anyway with `auth.mode: keys`')
    .addHelpText(
      'after',
      examples(
        'patchbay connect vscode',
        'patchbay connect cursor --write',
        'patchbay connect codex --url https://mcp.example.com/mcp --token',
        'patchbay connect cursor --undo',
      ),
    )
    .action((ide: HostName, _: unknown, command: Command) =>
      run<ConnectOptions>((options, io) => connect(ide, options, io))(command),
    );
}
