import { type Command, InvalidArgumentError, Option } from 'commander';
import { examples, type Run } from './declare-command.ts';
import { type UsageOptions, usage } from './usage.ts';

export function addUsage(program: Command, run: Run): void {
  program
    .command('usage')
    .summary('say from the audit log which tools are of use')
    .description(
      'Reads the audit log and says which tools and prompts were offered but never called, which were called by clients ' +
        'that had not been offered them, and which fail most, for all servers together and for each. Without a file it ' +
        'reads that of the configuration (audit.file), and what was rotated out of it.',
    )
    .argument('[file...]', 'audit logs, the oldest first')
    .option('--since <time>', 'only what happened since then: 7d, 12h, or a date such as 2026-07-28')
    .addOption(
      new Option('--top <count>', 'most rows of each table; 0 shows all').default(20).argParser(wholeNumber),
    )
    .option('--json', 'print everything as JSON')
    .addHelpText(
      'after',
      examples('patchbay usage --since 30d', 'patchbay usage audit.jsonl.1 audit.jsonl --json'),
    )
    .action((files: readonly string[], _: unknown, command: Command) =>
      run<UsageOptions>((options, io) => usage(files, options, io))(command),
    );
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) {
    throw new InvalidArgumentError('Give a whole number.');
  }
  return Number(text);
}
