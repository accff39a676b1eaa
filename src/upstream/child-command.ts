import { posix, win32 } from 'node:path';
import { GatewayError } from '../base/errors.ts';
import { type Environment, variable } from './child-env.ts';

export interface CommandQuery {
  readonly upstream: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The child's environment: its PATH is the one that is searched. */
  readonly env: Environment;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** Whether there is a file of this absolute path. */
  readonly exists: (path: string) => boolean;
}

/** What to hand to `spawn`. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  /** The arguments are quoted already (Windows). */
  readonly verbatim: boolean;
}

/**
 * The program that a configured command stands for (C-038). POSIX leaves the search to the system. Windows does not
 * start batch files such as `npx.cmd` by itself, so they are found here and run by `cmd.exe`, quoted so that every
 * argument arrives as given and none is read as a command. Throws UPSTREAM_COMMAND where nothing is found.
 */
export function resolveCommand(query: CommandQuery): Launch {
  const { command, args, platform } = query;
  if (platform !== 'win32') {
    return { file: command, args, verbatim: false };
  }
  const file = findOnWindows(query);
  if (file === undefined) {
    throw commandNotFound(query);
  }
  if (!/\.(?:cmd|bat)$/i.test(file)) {
    return { file, args, verbatim: false };
  }
  if (args.some((arg) => /[\r\n\0]/.test(arg))) {
    throw new GatewayError('UPSTREAM_COMMAND', {
      upstream: query.upstream,
      detail: 'A batch file cannot be given an argument that holds a line break.',
    });
  }
  const line = [file.replace(META, '^$&'), ...args.map(quoteForBatch)].join(' ');
  const shell = variable(query.env, 'COMSPEC', platform) ?? 'cmd.exe';
  return { file: shell, args: ['/d', '/s', '/c', `"${line}"`], verbatim: true };
}

/** The error of a missing command: its bare name for everybody, the searched PATH for the log. */
export function commandNotFound(
  query: Pick<CommandQuery, 'upstream' | 'command' | 'env' | 'platform'>,
  cause?: unknown,
): GatewayError {
  const { basename } = query.platform === 'win32' ? win32 : posix;
  const path = variable(query.env, 'PATH', query.platform);
  return new GatewayError('UPSTREAM_COMMAND', {
    upstream: query.upstream,
    detail: `command not found: ${basename(query.command)}`,
    logged: `command: ${query.command}; PATH searched: ${path ?? '(none)'}`,
    cause,
  });
}

function findOnWindows(query: CommandQuery): string | undefined {
  const { command, env, cwd, exists } = query;
  const folders = /[\\/:]/.test(command)
    ? [cwd]
    : [cwd, ...(variable(env, 'PATH', 'win32') ?? '').split(';').filter((folder) => folder !== '')];
  const known = (variable(env, 'PATHEXT', 'win32') ?? '.COM;.EXE;.BAT;.CMD').toLowerCase().split(';');
  const named = known.some((extension) => command.toLowerCase().endsWith(extension));
  const endings = named ? [''] : known;
  for (const folder of folders) {
    for (const ending of endings) {
      const path = win32.resolve(folder, command + ending);
      if (exists(path)) {
        return path;
      }
    }
  }
  return undefined;
}

/** Everything `cmd.exe` gives a meaning to, the quote and the percent sign included. */
const META = /[()\][%!^"`<>&|;, *?]/g;

/**
 * First as the C runtime of the program reads it (backslashes before a quote are doubled, the quote escaped), then each
 * special character behind a caret, twice: `cmd.exe` reads the line once, and the batch file its `%*` once more.
 */
function quoteForBatch(arg: string): string {
  const quoted = `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
  return quoted.replace(META, '^$&').replace(META, '^$&');
}
