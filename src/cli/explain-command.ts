import { type Command, Option } from 'commander';
import { KINDS } from '../protocol/model.ts';
import { examples, type Run } from './declare-command.ts';
import { type ExplainCommandOptions, explain } from './explain.ts';

export function addExplain(program: Command, run: Run): void {
  program
    .command('explain')
    .summary('say where a name leads, for whom, and why')
    .description(
      'Says what a tool, prompt, resource or template leads to: its server, its names, the rule and the view that show or ' +
        'hide it, the scopes that a use needs, what the configuration makes of it, and how old its list is. For a name ' +
        'that is not there it says why, and which names come near. Starts the servers of the configuration, or asks a ' +
        'gateway that runs. Fails where a call would not get through.',
    )
    .argument('<name>', 'name of a tool or prompt in any style, URI of a resource, or URI template')
    .option('--json', 'print everything as JSON')
    .option(
      '--as <principal>',
      'for whom: an id, group:NAME, key:ID, or JSON with id, groups and scopes; without it, nobody in particular',
    )
    .option('--view <name>', 'at the endpoint of this view, or of this upstream alone')
    .addOption(
      new Option('--names <style>', 'style of the names there, instead of the configured one').choices([
        'dotted',
        'strict',
      ]),
    )
    .addOption(new Option('--kind <kind>', 'only what is of this kind').choices(KINDS))
    .option('--url <url>', 'ask the gateway that runs there')
    .option('--token-env <variable>', 'variable that holds the token or key of an operator there')
    .addHelpText(
      'after',
      examples(
        'patchbay explain github.create_issue',
        'patchbay explain github.create_issue --as group:eng --view slim',
        `patchbay explain github.create_issue --as '{"id":"ann","groups":["eng"]}'`,
        'patchbay explain file:///data/plan.md --url https://mcp.example.com --token-env OPERATOR_KEY',
      ),
    )
    .action((name: string, _: unknown, command: Command) =>
      run<ExplainCommandOptions>((options, io) => explain(name, options, io))(command),
    );
}
