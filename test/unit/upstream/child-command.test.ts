import { describe, expect, it } from 'vitest';
import { type CommandQuery, commandNotFound, resolveCommand } from '../../../src/upstream/child-command.ts';

const files = new Set([
  'C:\\Program Files\\nodejs\\npx.cmd',
  'C:\\Program Files\\nodejs\\node.exe',
  'C:\\tools\\uvx.exe',
  'D:\\work\\local.bat',
]);

function windows(command: string, args: readonly string[] = []): CommandQuery {
  return {
    upstream: 'up',
    command,
    args,
    env: {
      Path: 'C:\\Program Files\\nodejs;C:\\tools',
      PATHEXT: '.COM;.EXE;.BAT;.CMD',
      ComSpec: 'C:\\cmd.exe',
    },
    cwd: 'D:\\work',
    platform: 'win32',
    exists: (path) => [...files].some((file) => file.toLowerCase() === path.toLowerCase()),
  };
}

/** What cmd.exe makes of one reading of a line without quotes: a caret makes the next character an ordinary one. */
const unescapeOnce = (line: string) => line.replace(/\^(.)/g, '$1');

/** Splits a command line as the C runtime of a Windows program does. */
function argv(line: string): string[] {
  const result: string[] = [];
  let current = '';
  let quoted = false;
  let begun = false;
  for (let at = 0; at < line.length; ) {
    const slashes = /^\\*/.exec(line.slice(at))?.[0].length ?? 0;
    if (line[at + slashes] === '"') {
      current += '\\'.repeat(Math.floor(slashes / 2));
      if (slashes % 2 === 1) {
        current += '"';
      } else {
        quoted = !quoted;
      }
      begun = true;
      at += slashes + 1;
    } else if (slashes > 0) {
      current += '\\'.repeat(slashes);
      begun = true;
      at += slashes;
    } else if (line[at] === ' ' && !quoted) {
      if (begun) {
        result.push(current);
      }
      current = '';
      begun = false;
      at += 1;
    } else {
      current += line[at];
      begun = true;
      at += 1;
    }
  }
  return begun ? [...result, current] : result;
}

describe('command resolution', () => {
  it('C-038: Windows programs are found by PATH and extension and started directly', () => {
    expect(resolveCommand(windows('uvx', ['a b', '&calc']))).toEqual({
      file: 'C:\\tools\\uvx.exe',
      args: ['a b', '&calc'],
      verbatim: false,
    });
    expect(resolveCommand(windows('C:\\Program Files\\nodejs\\node.exe')).file).toBe(
      'C:\\Program Files\\nodejs\\node.exe',
    );
  });

  it('C-038: a batch file runs through cmd.exe, and every argument arrives as given', () => {
    const args = [
      '-y',
      'a b',
      '&calc',
      '%PATH%',
      '"',
      'x"&calc',
      'back\\',
      'b\\\\"q',
      '^',
      '!v!',
      '',
      '(a|b)<c>d;e,f',
    ];
    const launch = resolveCommand(windows('npx', args));
    expect(launch.file).toBe('C:\\cmd.exe');
    expect(launch.verbatim).toBe(true);
    expect(launch.args.slice(0, 3)).toEqual(['/d', '/s', '/c']);
    const line = launch.args[3]?.slice(1, -1) ?? '';
    // Nothing special stands without a caret, so cmd.exe sees no quote, no operator and no variable in either reading.
    expect(line.replace(/\^./g, '')).not.toMatch(/[&|<>"%!();,]/);
    const batchLine = unescapeOnce(line).slice('C:\\Program Files\\nodejs\\npx.cmd '.length);
    expect(batchLine.replace(/\^./g, '')).not.toMatch(/[&|<>"%!();,]/);
    expect(argv(unescapeOnce(batchLine))).toEqual(args);
  });

  it('C-038: a line break, which cmd.exe cannot be given, is refused', () => {
    expect(() => resolveCommand(windows('npx', ['a\nb']))).toThrowError(
      expect.objectContaining({ code: 'UPSTREAM_COMMAND' }),
    );
  });

  it('C-038: files beside the working folder and missing ones on Windows', () => {
    expect(resolveCommand(windows('.\\local.bat')).args[3]).toContain('local.bat');
    expect(() => resolveCommand(windows('missing'))).toThrowError(/command not found: missing/);
  });

  it('C-038: POSIX leaves the search to the system', () => {
    expect(resolveCommand({ ...windows('npx', ['a b']), platform: 'linux' })).toEqual({
      file: 'npx',
      args: ['a b'],
      verbatim: false,
    });
  });

  it('C-038: the error names the bare command; the searched PATH is for the log alone', () => {
    const error = commandNotFound({
      upstream: 'up',
      command: '/opt/secret/npx',
      env: { PATH: '/bin:/x' },
      platform: 'linux',
    });
    expect(error.message).toContain('command not found: npx');
    expect(error.message).not.toContain('/opt');
    expect(error.message).not.toContain('/bin');
    expect(error.logged).toContain('/bin:/x');
  });
});
