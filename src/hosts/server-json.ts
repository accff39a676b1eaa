import { own } from '../base/json.ts';
import { type Draft, type Findings, newDraft, remark } from './draft.ts';
import { variableFor } from './ids.ts';
import { entryOf, itemsAt, mapAt, type Source, type SourceMap, textAt } from './source.ts';
import { cut, literal, type Wording } from './wording.ts';

/** Programs that start a package of a registry, with what comes before and after its name. */
const RUNNERS: Readonly<
  Record<string, (identifier: string, version: string | undefined) => readonly string[]>
> = {
  npm: (identifier, version) => [
    'npx',
    '-y',
    version === undefined ? identifier : `${identifier}@${version}`,
  ],
  pypi: (identifier, version) => ['uvx', version === undefined ? identifier : `${identifier}@${version}`],
  nuget: (identifier, version) => [
    'dnx',
    version === undefined ? identifier : `${identifier}@${version}`,
    '--yes',
  ],
  oci: (identifier, version) => [
    ...['docker', 'run', '--rm', '-i'],
    version === undefined || /[@:][^/]+$/.test(identifier) ? identifier : `${identifier}:${version}`,
  ],
};

/**
 * One server as the MCP registry publishes it (`server.json`): the first remote over Streamable HTTP, else another
 * remote, else a package that can be started. What else it offers is reported.
 */
export function readServerJson(root: SourceMap, about: Findings): readonly Draft[] {
  const name = textAt(root, 'name') ?? '';
  const draft = newDraft(name, [], root.place, about);
  const remotes = itemsAt(root, 'remotes');
  const packages = itemsAt(root, 'packages');
  const isStreamable = (remote: Source) => /^streamable/.test(textAt(remote, 'type') ?? '');
  const chosen = remotes.find(isStreamable) ?? remotes[0] ?? packages.find(canStart);
  const words = new Words(name.split('/').at(-1) ?? name);
  if (chosen === undefined) {
    about.problem([], root.place, 'no remote, and no package that can be started');
    return [];
  }
  if (remotes.includes(chosen)) {
    readRemote(draft, chosen, words);
  } else {
    readPackage(draft, chosen, words);
  }
  const others = [...remotes, ...packages].filter((other) => other !== chosen);
  if (others.length > 0) {
    const told = others.map(
      (other) => textAt(other, 'registryType') ?? textAt(other, 'type') ?? 'another kind',
    );
    remark(draft, `it is offered in other ways too (${told.join(', ')}); the first that suits was taken`);
  }
  return [draft];
}

const canStart = (source: Source) => {
  const transport = textAt(mapAt(source, 'transport'), 'type') ?? 'stdio';
  return transport === 'stdio' && Object.hasOwn(RUNNERS, textAt(source, 'registryType') ?? '');
};

function readRemote(draft: Draft, remote: Source, words: Words): void {
  draft.url = words.template(draft, textAt(remote, 'url') ?? '', mapAt(remote, 'variables'));
  draft.transport = textAt(remote, 'type') === 'sse' ? 'sse' : 'streamable-http';
  for (const header of itemsAt(remote, 'headers')) {
    const name = textAt(header, 'name') ?? '';
    const value = words.input(draft, name, header);
    if (value !== undefined) {
      draft.headers.set(name, value);
    }
  }
}

function readPackage(draft: Draft, source: Source, words: Words): void {
  const kind = textAt(source, 'registryType') ?? '';
  const run = own(RUNNERS, kind)?.(textAt(source, 'identifier') ?? '', textAt(source, 'version')) ?? [];
  const [command, ...before] = run.map(literal);
  const runtime = itemsAt(source, 'runtimeArguments').flatMap((each) => words.argument(draft, each));
  if (command !== undefined) {
    draft.command = command;
  }
  // The image or package is the last of them; what the runner itself is told comes before.
  const named = before.length - (kind === 'nuget' ? 2 : 1);
  const variables = itemsAt(source, 'environmentVariables');
  for (const variable of variables) {
    const name = textAt(variable, 'name') ?? '';
    const value = words.input(draft, name, variable, name);
    if (value !== undefined) {
      draft.env.set(name, value);
    }
  }
  const passed =
    kind === 'oci' ? [...draft.env.keys()].flatMap((name) => [literal('-e'), literal(name)]) : [];
  const theirs = itemsAt(source, 'packageArguments').flatMap((each) => words.argument(draft, each));
  draft.args = [...before.slice(0, named), ...runtime, ...passed, ...before.slice(named), ...theirs];
}

/** Inputs of the registry: a value, a default, or something that has to be set as a variable of the gateway. */
class Words {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The words for one input; undefined where nothing has to be sent. `variable`: its name, if it has one of its own. */
  input(
    draft: Draft,
    name: string,
    input: Source,
    variable = variableFor(this.#prefix, name),
  ): Wording | undefined {
    const value = textAt(input, 'value');
    if (value !== undefined) {
      return this.template(draft, value, mapAt(input, 'variables'));
    }
    const standIn = textAt(input, 'default');
    const choices = itemsAt(input, 'choices').flatMap((each) =>
      each.kind === 'scalar' ? [String(each.value)] : [],
    );
    if (choices.length > 0) {
      remark(draft, `${name} is one of ${choices.join(', ')}`);
    }
    if (standIn !== undefined && !isTrue(input, 'isSecret')) {
      return literal(standIn);
    }
    if (!isTrue(input, 'isRequired')) {
      remark(draft, `${name} can be given too; it is not required`);
      return undefined;
    }
    return [{ variable }];
  }

  template(draft: Draft, text: string, variables: SourceMap | undefined): Wording {
    return cut(text, /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g, ([, name = '']) => {
      const [first] = this.input(draft, name, mapAt(variables, name) ?? REQUIRED) ?? [];
      return first ?? { variable: variableFor(this.#prefix, name) };
    });
  }

  argument(draft: Draft, argument: Source): readonly Wording[] {
    const name = textAt(argument, 'name');
    const value = this.input(draft, name ?? textAt(argument, 'valueHint') ?? 'argument', argument);
    if (textAt(argument, 'type') !== 'named' || name === undefined) {
      return value === undefined ? [] : [value];
    }
    return value === undefined ? [] : [literal(name), value];
  }
}

const nowhere = { line: 0, column: 0 };
const REQUIRED: SourceMap = {
  kind: 'map',
  place: nowhere,
  entries: [{ key: 'isRequired', place: nowhere, value: { kind: 'scalar', place: nowhere, value: true } }],
};

function isTrue(source: Source, key: string): boolean {
  const value = entryOf(source, key)?.value;
  return value?.kind === 'scalar' && value.value === true;
}
