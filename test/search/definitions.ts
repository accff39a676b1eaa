import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../src/base/json.ts';

/** One made-up server of the benchmark. */
export interface MadeServer {
  readonly id: string;
  readonly tools: readonly MadeTool[];
}

export interface MadeTool {
  /** How questions name it: `<server>.<action>_<thing>`, whatever the style of its server. */
  readonly key: string;
  readonly definition: JsonObject;
}

type Style = 'snake' | 'camel' | 'kebab';

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** What servers write about what they do with a thing; which of them it is goes by the name of the tool. */
const SAYS: Readonly<Record<string, readonly string[]>> = {
  create: [
    'Create a new {one}.',
    'Creates a {one} and returns it.',
    'Create {one}. Returns the id of what was created.',
  ],
  add: ['Add a {one}.', 'Adds a {one} and returns its id.'],
  get: [
    'Get a {one} by its identifier.',
    'Retrieve details of one {one}.',
    'Returns a single {one} with all of its fields.',
  ],
  retrieve: ['Retrieve a {one}.'],
  list: [
    'List every {one}, a page at a time.',
    'Returns a list of each {one}, filtered by the given fields.',
    'List {one} entries.',
  ],
  update: [
    'Update a {one}.',
    'Update fields of an existing {one}; fields that are not given stay.',
    'Modify a {one}.',
  ],
  delete: [
    'Delete a {one}.',
    'Permanently delete a {one}. This cannot be undone.',
    'Deletes the {one} with this identifier.',
  ],
  search: ['Search for a {one} by text and filters.', 'Search every {one} that matches a query.'],
};

const TAILS = [
  '',
  ' Requires write access.',
  ' Results are paginated: pass the cursor of the last page to get the next one.',
  ' Returns JSON.',
  ' Rate limits of the API apply.',
  ' Fails if the identifier does not exist.',
];

const BOILERPLATE: Readonly<Record<string, string>> = {
  query: 'The query to run.',
  limit: 'Maximum number of results to return (default 20).',
  id: 'Identifier.',
  name: 'Name.',
  path: 'Path, relative to the root.',
};

/** Some hundreds of lines of text as about a thousand definitions of tools; the same each time. */
export function madeServers(): readonly MadeServer[] {
  const servers: { id: string; tools: MadeTool[]; style: Style }[] = [];
  for (const line of read('servers.txt').split('\n').filter(Boolean)) {
    const head = /^# (\S+) (snake|camel|kebab) /.exec(line);
    const server = servers.at(-1);
    if (head !== null) {
      servers.push({ id: String(head[1]), style: head[2] as Style, tools: [] });
    } else if (server !== undefined) {
      server.tools.push(...toolsOf(line, server.id, server.style));
    }
  }
  return servers;
}

export interface Question {
  readonly asked: string;
  /** Keys of the tools that are a right answer. */
  readonly right: readonly string[];
}

export interface Questions {
  /** As a user would put them; ranking was tuned by them, by `more` in a second round. */
  readonly tuned: readonly Question[];
  readonly more: readonly Question[];
  /** As a user would put them; nothing was tuned by them, and who tunes does not read them. */
  readonly heldOut: readonly Question[];
  /** As a model puts them into `search_tools`: the words that it expects there. */
  readonly agents: readonly Question[];
}

export function questions(): Questions {
  return {
    tuned: questionsIn('questions-tuned.txt'),
    more: questionsIn('questions-more.txt'),
    heldOut: questionsIn('questions-held-out.txt'),
    agents: questionsIn('questions-agents.txt'),
  };
}

function questionsIn(name: string): readonly Question[] {
  return read(name)
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [asked = '', right = ''] = line.split(' | ');
      return { asked, right: right.split(', ') };
    });
}

function toolsOf(line: string, server: string, style: Style): readonly MadeTool[] {
  const [what = '', says = '', args = '', actions = ''] = line.split(' | ');
  const names = args === '-' ? [] : args.split(' ');
  if (!line.startsWith('@ ')) {
    return [toolNamed(server, what, `${says}.`, names, 0)];
  }
  const thing = what.slice(2);
  return actions.split(' ').map((action) => {
    const name = inStyle(`${action}_${thing}`, style);
    const forms = SAYS[action] ?? [`${capital(action)} a {one}.`];
    const form = pick(forms, `${server} ${name}`).replace('{one}', says);
    return toolNamed(
      server,
      name,
      form,
      names.slice(0, action === 'delete' ? 3 : 6),
      1,
      `${action}_${snake(thing)}`,
    );
  });
}

function toolNamed(
  server: string,
  name: string,
  says: string,
  args: readonly string[],
  required: number,
  key = snake(name),
): MadeTool {
  const properties = Object.fromEntries(args.map((arg) => [arg, propertyOf(arg)]));
  return {
    key: `${server}.${key}`,
    definition: {
      name,
      description: says + pick(TAILS, `${name} ${server}`),
      inputSchema: { type: 'object', properties, required: args.slice(0, Math.max(1, required)) },
      ...(/^(?:get|list|search|read|find|query|describe)/.test(key)
        ? { annotations: { readOnlyHint: true } }
        : {}),
    },
  };
}

function propertyOf(name: string): JsonObject {
  const isMany = /s$/.test(name) && !/status|address|radius/.test(name);
  const description = BOILERPLATE[name] ?? `The ${snake(name).replaceAll('_', ' ')}.`;
  return isMany ? { type: 'array', items: { type: 'string' }, description } : { type: 'string', description };
}

function snake(name: string): string {
  return name.includes('-') ? name : name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
}

function inStyle(name: string, style: Style): string {
  return style === 'snake'
    ? name
    : name.replace(/[_-]([a-z])/g, (_, letter: string) =>
        style === 'kebab' ? `-${letter}` : letter.toUpperCase(),
      );
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

function pick(choices: readonly string[], by: string): string {
  let sum = 7;
  for (const sign of by) {
    sum = (sum * 31 + sign.charCodeAt(0)) % 1_000_003;
  }
  return choices[sum % choices.length] ?? '';
}
