import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { publicBase } from '../access/resource.ts';
import type { JsonObject } from '../base/json.ts';
import { type LoadOptions, loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { tomlSnippet } from '../hosts/edit-toml.ts';
import {
  HOSTS,
  type Host,
  type HostName,
  hasPlaceholder,
  type Target,
  TOKEN_VARIABLE,
} from '../hosts/host-table.ts';
import { confirmed } from './connect-ask.ts';
import { ConnectRefused, undo, write } from './connect-file.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, overridesOf } from './open.ts';
import { forTerminal } from './text.ts';

export interface ConnectOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly write?: boolean;
  readonly undo?: boolean;
  readonly yes?: boolean;
  readonly file?: string;
  readonly url?: string;
  readonly view?: string;
  readonly name?: string;
  readonly names?: 'dotted' | 'strict';
  readonly stdio?: boolean;
  readonly token?: boolean;
}

/** `connect`: prints what a host needs to reach this gateway, or writes it into the file of that host. */
export async function connect(hostName: HostName, options: ConnectOptions, io: Io): Promise<ExitCode> {
  const host: Host = HOSTS[hostName];
  const wrong = wrongUse(host, options);
  if (wrong !== undefined) {
    io.err(`error: ${wrong}\n`);
    return EXIT.usage;
  }
  const home = {
    platform: process.platform,
    home: io.env['HOME'] ?? homedir(),
    env: io.env,
    here: process.cwd(),
  };
  const file = resolve(options.file ?? host.file(home));
  const name = options.name ?? 'patchbay';
  try {
    if (options.undo === true) {
      return tell(await undo(file, { host, name, ask: asking(options, io) }), file, options, io);
    }
    const { target, remarks } = await targetFor(host, options, io);
    const entry =
      'url' in target && host.http !== undefined ? host.http(target) : host.stdio(target as StdioTarget);
    if (options.write !== true) {
      print({ host, file, name, entry, remarks, options }, io);
      return EXIT.ok;
    }
    sayAll([...remarks, ...secretRemarks(entry)], io);
    return tell(await write(file, { host, name, entry, ask: asking(options, io) }), file, options, io);
  } catch (thrown) {
    if (thrown instanceof ConnectRefused) {
      io.err(forTerminal(`error: ${thrown.message}\n`));
      return thrown.usage ? EXIT.usage : EXIT.failed;
    }
    throw thrown;
  }
}

type StdioTarget = Extract<Target, { command: string }>;

function wrongUse(
  host: Host,
  { write: writes, undo: undoes, stdio, view, url, name, yes }: ConnectOptions,
): string | undefined {
  if (writes === true && undoes === true) {
    return '--write and --undo exclude each other';
  }
  if (yes === true && writes !== true && undoes !== true) {
    return '--yes goes with --write or --undo';
  }
  if (name !== undefined && !/^[A-Za-z0-9_-]{1,32}$/.test(name)) {
    return '--name must be 1 to 32 of letters, digits, "_" and "-"';
  }
  if (url !== undefined && !/^https?:\/\/[^/]/i.test(url)) {
    return '--url must begin with http:// or https://';
  }
  if ((stdio === true || host.http === undefined) && (view !== undefined || url !== undefined)) {
    return `--url and --view are for HTTP, and ${stdio === true ? '--stdio is not' : `${host.label} starts a process`}`;
  }
  return undefined;
}

interface Targeted {
  readonly target: Target;
  readonly remarks: readonly string[];
}

async function targetFor(host: Host, options: ConnectOptions, io: Io): Promise<Targeted> {
  const settings = options.url === undefined ? await settingsFor(options, io) : undefined;
  const style = options.names ?? (host.strict ? 'strict' : undefined);
  const mode = settings?.auth.mode;
  const token = options.token ?? mode === 'keys';
  const remarks = [
    ...host.remarks,
    ...(mode === 'jwt' && !token
      ? ['The host signs its user in at your identity provider, if it can; else use --token.']
      : []),
  ];
  if (options.stdio === true || host.http === undefined) {
    const names = style === undefined ? [] : ['--names', style];
    // This very program, since a desktop program knows nothing of the `PATH` of a shell.
    const args = [io.main, 'stdio', '--config', resolve(options.config), ...names];
    return { target: { command: process.execPath, args, token: token || mode === 'jwt' }, remarks };
  }
  const url = new URL(options.url ?? endpointOf(settings, options));
  if (style !== undefined && style !== styleOf(settings, options.view)) {
    url.searchParams.set('names', style);
  }
  return { target: { url: url.href, token }, remarks };
}

async function settingsFor(options: ConnectOptions, io: Io): Promise<Settings> {
  const load: LoadOptions = { env: io.env, overrides: overridesOf(options) };
  return (await loadSettings(options.config, load)).settings;
}

function endpointOf(settings: Settings | undefined, { view }: ConnectOptions): string {
  if (settings === undefined) {
    throw new TypeError('an endpoint needs settings');
  }
  const { listen, views, upstreams } = settings;
  if (view !== undefined && !Object.hasOwn(views, view) && !Object.hasOwn(upstreams, view)) {
    throw new ConnectRefused(`there is no view or upstream "${view}" in the configuration`, { usage: true });
  }
  if (listen.port === 0 && listen.publicUrl === undefined) {
    throw new ConnectRefused('the port is 0, so nobody knows the URL; give --port or --url', { usage: true });
  }
  return `${publicBase(listen, listen.port)}/mcp${view === undefined ? '' : `/${view}`}`;
}

/** The style that names have there by themselves. */
function styleOf(settings: Settings | undefined, view = 'default'): string {
  const own =
    settings !== undefined && Object.hasOwn(settings.views, view) ? settings.views[view]?.naming : undefined;
  return own ?? settings?.naming.style ?? 'dotted';
}

interface Printed {
  readonly host: Host;
  readonly file: string;
  readonly name: string;
  readonly entry: JsonObject;
  readonly remarks: readonly string[];
  readonly options: ConnectOptions;
}

function print({ host, file, name, entry, remarks, options }: Printed, io: Io): void {
  const [servers = ''] = host.servers;
  const inputs = needsInput(host, entry) ? { inputs: [host.input] } : {};
  const whole = { ...inputs, [servers]: { [name]: entry } };
  const snippet =
    host.syntax === 'toml' ? tomlSnippet(servers, name, entry) : `${JSON.stringify(whole, undefined, 2)}\n`;
  if (options.json === true) {
    io.out(`${JSON.stringify({ host: host.label, file, name, entry, snippet, remarks }, undefined, 2)}\n`);
    return;
  }
  io.out(snippet);
  io.err(forTerminal(`For ${host.label}, in ${file}; --write puts it there.\n`));
  sayAll([...remarks, ...secretRemarks(entry)], io);
}

const needsInput = (host: Host, entry: JsonObject) =>
  host.input !== undefined && JSON.stringify(entry).includes(`\${input:${String(host.input['id'])}}`);

function secretRemarks(entry: JsonObject): readonly string[] {
  if (hasPlaceholder(entry)) {
    return ['Put the key in its place: the host looks nothing up there. `patchbay keys new ID` makes one.'];
  }
  return JSON.stringify(entry).includes(TOKEN_VARIABLE)
    ? [`It takes the key from the variable ${TOKEN_VARIABLE}: have that set where the host is started.`]
    : [];
}

function sayAll(remarks: readonly string[], io: Io): void {
  for (const text of remarks) {
    io.err(forTerminal(`${text}\n`));
  }
}

/** Shows the difference, and asks: at a terminal a person, else `--yes` has to have been given. */
function asking(options: ConnectOptions, io: Io): (difference: string) => Promise<boolean> {
  return async (difference) => {
    if (options.json !== true) {
      io.out(forTerminal(difference));
    }
    if (options.yes === true) {
      return true;
    }
    if (!(io.readable && process.stdin.isTTY)) {
      throw new ConnectRefused('nothing was written: this is no terminal to ask at; --yes does without', {
        usage: true,
      });
    }
    return await confirmed('Write this?', process.stdin, process.stderr);
  };
}

function tell(
  {
    done,
    backup,
    message,
  }: { readonly done: boolean; readonly backup?: string | undefined; readonly message: string },
  file: string,
  options: ConnectOptions,
  io: Io,
): ExitCode {
  if (options.json === true) {
    io.out(`${JSON.stringify({ file, changed: done, backup, message }, undefined, 2)}\n`);
  } else {
    io.err(forTerminal(`${message}\n`));
  }
  return EXIT.ok;
}
