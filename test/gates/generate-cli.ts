/**
 * Writes `docs/cli.md`, which is made from the declaration of the command line in src/cli/program.ts.
 * Run it after a change of a command: `node test/gates/generate-cli.ts`. A gate test proves the page current.
 */
import { writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Argument, Command, Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';
import { inRepository } from './generate.ts';

export const CLI_PAGE = 'docs/cli.md';

const INTRO = `# Commands

<!-- Made from src/cli/program.ts by test/gates/generate-cli.ts. -->

Answers go to stdout; the log, progress and errors go to stderr. Every command takes \`--json\` and \`--help\`;
\`patchbay --version\` prints the version.

| Exit code | Meaning |
| --- | --- |
| 0 | ok |
| 1 | failed: what the command is about is not as it should be |
| 2 | wrong usage or configuration: nothing was started |
`;

/** The page about every command, in the order of \`patchbay --help\`. */
export function cliPage(): string {
  let printed = '';
  const program = buildProgram(
    {
      main: '/opt/patchbay/main.js',
      env: {},
      out: (text) => {
        printed += text;
      },
      err: () => {},
      readable: false,
      input: async () => '',
      columns: undefined,
      stopped: () => new Promise(() => {}),
      serving: () => {},
      onHangup: () => {},
    },
    () => {},
  );
  const examplesOf = (command: Command): string => {
    printed = '';
    command.outputHelp();
    const [, lines = ''] = printed.split('\nExamples:\n');
    return lines.replaceAll(/^ {2}/gm, '').trim();
  };
  const sections = program.commands
    .flatMap((command) => (command.commands.length === 0 ? [command] : command.commands))
    .map((command) => section(command, examplesOf(command)));
  const globals = `## Options of every command\n\nThey may stand before the command or after it.\n\n${optionTable(program.options.filter((option) => option.attributeName() !== 'version'))}`;
  return [INTRO, globals, ...sections].join('\n');
}

function section(command: Command, examples: string): string {
  const { registeredArguments: args, parent } = command;
  const name = parent?.parent === null ? command.name() : `${parent?.name()} ${command.name()}`;
  return [
    `## \`${name}\`\n`,
    `${command.description()}\n`,
    `\`\`\`sh\npatchbay ${name} ${command.usage()}\n\`\`\`\n`,
    ...(args.length === 0 ? [] : [argumentTable(args)]),
    optionTable(command.options),
    `\`\`\`sh\n${examples}\n\`\`\`\n`,
  ].join('\n');
}

function argumentTable(args: readonly Argument[]): string {
  const rows = args.map((argument) => [
    `\`${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}\``,
    argument.required ? '**required**' : defaultText(argument.defaultValue),
    argument.description,
  ]);
  return table(['Argument', 'Default', 'Meaning'], rows);
}

function optionTable(options: readonly Option[]): string {
  const withVariable = options.some(({ envVar }) => envVar !== undefined);
  const rows = options.map((option) => [
    `\`${option.flags}\``,
    option.isBoolean() ? 'off' : defaultText(option.defaultValue),
    ...(withVariable ? [option.envVar === undefined ? '' : `\`${option.envVar}\``] : []),
    meaning(option),
  ]);
  return table(['Option', 'Default', ...(withVariable ? ['Variable'] : []), 'Meaning'], rows);
}

const defaultText = (value: unknown): string => (value === undefined ? 'none' : `\`${value}\``);

function meaning({ description, argChoices }: Option): string {
  const choices = argChoices?.map((choice) => `\`${choice}\``).join(', ');
  return choices === undefined ? description : `${description}; one of ${choices}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(inRepository(CLI_PAGE), cliPage());
}
