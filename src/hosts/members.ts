import type { Path } from '../config/problems.ts';
import type { Surroundings } from './dialect.ts';
import { type Draft, type Findings, remark } from './draft.ts';
import type { Format, Meaning } from './formats.ts';
import { entryOf, mapAt, type Source, type SourceEntry, textAt } from './source.ts';
import { Values } from './values.ts';
import { literal, plain, VARIABLE, type Wording } from './wording.ts';

export interface EntryContext {
  readonly format: Format;
  readonly around: Surroundings;
  readonly about: Findings;
  /** Where the entries are in the file. */
  readonly path: Path;
  /** Variables of a file that an entry names; undefined where it cannot be read. */
  readonly envFile: (path: Wording) => ReadonlyMap<string, string> | undefined;
}

/** The longest time that the configuration takes, ms. */
const LONGEST_TIME = 24 * 86_400_000;

type Take = (members: EntryMembers, key: string, value: Source) => void;

const says =
  (message: string): Take =>
  ({ draft }, key, value) =>
    remark(draft, message, [key], value.place);

/** What is done with a member, by what it means. */
const TAKE: Readonly<Record<Meaning, Take>> = {
  kind: (members, key, value) => {
    members.kind = members.values.text(key, value);
  },
  command: (members, key, value) => members.command(key, value),
  args: (members, key, value) => {
    members.draft.args.push(...members.list(key, value));
  },
  env: (members, key, value) => members.texts('env', key, value),
  envOrOwn: (members, key, value) => members.envOrOwn(key, value),
  headers: (members, key, value) => members.texts('headers', key, value),
  headerVariables: ({ draft, values }, key, value) => {
    for (const [name, variable] of values.texts([key], value)) {
      draft.headers.set(name, lookedUp(draft, [key, name], value, variable));
    }
  },
  bearerVariable: ({ draft, values }, key, value) => {
    const token = lookedUp(draft, [key], value, values.text(key, value) ?? '');
    draft.headers.set('Authorization', [{ literal: 'Bearer ' }, ...token]);
  },
  passEnv: ({ draft, values }, key, value) => {
    draft.passEnv.push(...values.list([key], value));
  },
  envFile: (members, key, value) => members.envFile(key, value),
  cwd: (members, key, value) => {
    members.draft.cwd = members.words(key, value);
  },
  url: (members, key, value) => members.address('url', key, value),
  streamableUrl: (members, key, value) => members.address('streamableUrl', key, value),
  sseUrl: (members, key, value) => members.address('sseUrl', key, value),
  wrongUrl: (members, key, value) => members.address('wrongUrl', key, value),
  enabled: (members, key, value) => members.flag(false, key, value),
  disabled: (members, key, value) => members.flag(true, key, value),
  call: (members, key, value) => members.time('call', key, value),
  connect: (members, key, value) => members.time('connect', key, value),
  allow: ({ draft, values }, key, value) => {
    draft.allow = values.list([key], value);
  },
  deny: ({ draft, values }, key, value) => {
    draft.deny = values.list([key], value);
  },
  approval: says('dropped: which calls need no approval is up to each client'),
  limit: says('NOT APPLIED: the gateway does not limit what a server may do'),
  oauth: (members, key, value) => {
    if (value.kind !== 'scalar' || value.value !== false) {
      const message =
        'NOT IMPORTED: how the host signs in by itself; give the gateway a token in "headers", or "credentials"';
      says(message)(members, key, value);
    }
  },
  proxyOptions: (members, key, value) => members.proxyOptions(key, value),
  hiddenResources: says('NOT APPLIED: hide them with a rule ("access"), or leave them out of a view'),
  instructions: says(
    'not imported: the gateway tells the instructions of the server, or none ("instructions")',
  ),
  label: () => {},
};

/** Takes the members of one server's entry, one after the other, into its draft. */
export class EntryMembers {
  readonly draft: Draft;
  readonly context: EntryContext;
  readonly values: Values;
  readonly seen = new Set<string>();
  /** What the entry calls its transport. */
  kind: string | undefined;
  /** Of the URL that was taken. */
  url: Meaning | undefined;
  #flags = 0;

  constructor(draft: Draft, context: EntryContext) {
    this.draft = draft;
    this.context = context;
    this.values = new Values(draft);
  }

  take({ key, place, value }: SourceEntry): void {
    const { members, mistaken = {} } = this.context.format;
    const meaning = Object.hasOwn(members, key) ? members[key] : undefined;
    if (this.seen.has(key)) {
      this.#problem([key], value, 'this key stands here twice');
    } else if (meaning === undefined) {
      const why = Object.hasOwn(mistaken, key) ? mistaken[key] : 'nothing here means the same';
      remark(this.draft, `not imported: ${why}`, [key], place);
    } else {
      TAKE[meaning](this, key, value);
    }
    this.seen.add(key);
  }

  /** One program, a list of program and arguments, or what Zed once had: `path`, `args` and `env` in one mapping. */
  command(key: string, value: Source): void {
    if (value.kind === 'list') {
      const [command, ...args] = this.list(key, value);
      this.draft.args.push(...args);
      if (command !== undefined) {
        this.draft.command = command;
      }
    } else if (value.kind === 'map') {
      const inner: Readonly<Record<string, Meaning>> = { path: 'command', args: 'args', env: 'env' };
      for (const { key: name, value: each } of value.entries) {
        const meaning = Object.hasOwn(inner, name) ? inner[name] : undefined;
        TAKE[meaning ?? 'label'](this, name, each);
      }
    } else {
      this.draft.command = this.words(key, value);
    }
  }

  address(meaning: Meaning, key: string, value: Source): void {
    if (this.url !== undefined) {
      const message = 'there are two URLs; that of Streamable HTTP, else the first, was taken';
      remark(this.draft, message, [key], value.place);
      if (meaning !== 'streamableUrl') {
        return;
      }
    }
    this.url = meaning;
    const words = this.words(key, value);
    const [start] = words;
    const text = start !== undefined && 'literal' in start ? start.literal : undefined;
    if (text !== undefined && /^unix:/i.test(text)) {
      const [, path = '/mcp'] = /#(\/[^?#]*)/.exec(plain(words) ?? '') ?? [];
      const message =
        'off: it listens on a Unix socket, which the gateway does not speak; this URL is a stand-in';
      this.draft.url = literal(`http://localhost${path}`);
      this.draft.off = true;
      remark(this.draft, message, [key], value.place);
      return;
    }
    if (text !== undefined && text !== '' && !/^https?:\/\//i.test(text)) {
      this.#problem([key], value, 'must begin with http:// or https://');
    }
    this.draft.url = words;
    if (meaning === 'wrongUrl') {
      const { label } = this.context.format;
      const message = `${label} reads "serverUrl" and does not connect to this; imported all the same`;
      remark(this.draft, message, [key], value.place);
    }
  }

  flag(off: boolean, key: string, value: Source): void {
    if (value.kind !== 'scalar' || typeof value.value !== 'boolean') {
      this.#problem([key], value, 'must be true or false, without quotes');
      return;
    }
    this.#flags += 1;
    if (this.#flags > 1) {
      this.#problem([key], value, '"enabled" and "disabled" both stand here; keep one');
    }
    this.draft.off ||= value.value === off;
  }

  time(meaning: 'call' | 'connect', key: string, value: Source): void {
    const amount = value.kind === 'scalar' ? value.value : undefined;
    const time = typeof amount === 'number' ? Math.round(amount * this.context.format.tick) : Number.NaN;
    if (!(time >= 1 && time <= LONGEST_TIME)) {
      this.#problem([key], value, 'must be a number above 0, and at most 24 days');
      return;
    }
    this.draft[meaning] = time;
    if (time < 1000) {
      remark(this.draft, `only ${time} ms, which some hosts ignore; taken as it is`, [key], value.place);
    }
  }

  envFile(key: string, value: Source): void {
    const found = this.context.envFile(this.words(key, value));
    const message =
      found === undefined
        ? 'NOT IMPORTED: the file cannot be read from here; put its variables into "env"'
        : 'its variables were put into "env"; later changes of the file are not noticed';
    remark(this.draft, message, [key], value.place);
    for (const [name, text] of found ?? []) {
      if (!this.draft.env.has(name)) {
        this.draft.env.set(name, literal(text));
      }
    }
  }

  texts(into: 'env' | 'headers', key: string, value: Source): void {
    for (const [name, text] of this.values.texts([key], value)) {
      this.draft[into].set(name, this.#read(text, [key, name], value));
    }
  }

  /** What is empty or null is a variable of that very name. */
  envOrOwn(key: string, value: Source): void {
    const entries = value.kind === 'map' ? value.entries : [];
    const isOwn = ({ value: each }: SourceEntry) =>
      each.kind === 'scalar' && (each.value === null || each.value === '');
    for (const { key: name, value: each } of entries.filter(isOwn)) {
      this.draft.env.set(name, lookedUp(this.draft, [key, name], each, name));
    }
    const rest = value.kind === 'map' ? { ...value, entries: entries.filter((each) => !isOwn(each)) } : value;
    this.texts('env', key, rest);
  }

  /** `options` of mcp-proxy. What it says of logs and of how it reconnects needs no word here. */
  proxyOptions(key: string, value: Source): void {
    const { draft, values } = this;
    const filter = mapAt(value, 'toolFilter');
    const list = entryOf(filter, 'list')?.value;
    if (list !== undefined) {
      const names = values.list([key, 'toolFilter', 'list'], list);
      if (textAt(filter, 'mode') === 'allow') {
        draft.allow = names;
      } else {
        draft.deny = names;
      }
    }
    const off = entryOf(value, 'disabled') ?? entryOf(value, 'Disabled');
    if (off !== undefined) {
      this.flag(true, key, off.value);
    }
    const tokens = entryOf(value, 'authTokens');
    if (tokens !== undefined) {
      const message =
        'NOT IMPORTED: clients sign in once for all servers: "auth", with keys of "patchbay keys new"; who sees which server is said by "access"';
      remark(draft, message, [key, 'authTokens'], tokens.place);
    }
  }

  list(key: string, value: Source): readonly Wording[] {
    return this.values.list([key], value).map((text, at) => this.#read(text, [key, at], value));
  }

  words(key: string, value: Source): Wording {
    return this.#read(this.values.text(key, value) ?? '', [key], value);
  }

  #read(text: string, at: Path, { place }: Source): Wording {
    const { format, around } = this.context;
    return format.dialect(text, around, (message) => {
      this.draft.off = true;
      remark(this.draft, `off: ${message}`, at, place);
    });
  }

  #problem(at: Path, { place }: Source, message: string): void {
    this.draft.about.problem([...this.draft.path, ...at], place, message);
  }
}

function lookedUp(draft: Draft, at: Path, { place }: Source, name: string): Wording {
  if (!VARIABLE.test(name)) {
    draft.about.problem([...draft.path, ...at], place, 'must be the name of a variable');
  }
  return [{ variable: name }];
}
