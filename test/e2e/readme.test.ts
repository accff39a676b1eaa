import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { textOf } from '../gates/repository.ts';
import { startProgram } from './shipped.ts';

/** The commands of the shell blocks, one a line. What is shown as text is for other programs than this one. */
const commands = [...textOf('README.md').matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
  block.split('\n').filter((line) => line !== ''),
);

/** Proven elsewhere: by `.ci/run`, and by the test of the shipped configuration. */
const ELSEWHERE = ['npm ci && npm test', 'npm ci && npm start'];
const INSPECTOR = 'npx @modelcontextprotocol/inspector ';
const PATCHBAY = 'npx patchbay ';

/** The words of a command as a shell reads them; single quotes are the only ones used here. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

/** What has to be in the output of each. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'npx patchbay check': /^Result: ok$/m,
  'npx patchbay tools': /^ +everything\.echo /m,
  [`npx patchbay call everything.echo '{"message":"hello"}'`]: /^Echo: hello$/m,
};

describe('README.md', () => {
  it('has no command that nothing runs', () => {
    const known = (line: string) =>
      ELSEWHERE.includes(line) || line.startsWith(INSPECTOR) || Object.hasOwn(EXPECTED, line);
    expect(commands.filter((line) => !known(line))).toEqual([]);
    expect(commands).toEqual(expect.arrayContaining([...ELSEWHERE, ...Object.keys(EXPECTED)]));
  });

  it.each(Object.entries(EXPECTED))(
    '%s works',
    async (command, expected) => {
      await using program = await startProgram(['dist/main.js', ...wordsOf(command.slice(PATCHBAY.length))]);
      expect(await program.ended, program.err).toBe(0);
      expect(program.out).toMatch(expected);
    },
    60_000,
  );

  it('shows a first call that works', async () => {
    await using gateway = await startProgram(['dist/main.js', 'serve', '--port', '0']);
    const url = await gateway.untilSaid(/^Patchbay serves (\S+)$/m);
    const command = commands.find((line) => line.startsWith(INSPECTOR)) ?? '';
    const args = wordsOf(command.slice(INSPECTOR.length)).map((word) =>
      word === 'http://127.0.0.1:3333/mcp' ? url : word,
    );
    expect(args).toContain(url);
    await using inspector = await startProgram([inspectorProgram(), ...args]);
    expect(await inspector.ended, inspector.err).toBe(0);
    expect(inspector.out).toContain('Echo: hello');
  }, 90_000);

  it('names the commands there are, and no other', async () => {
    await using program = await startProgram(['dist/main.js', '--help']);
    expect(await program.ended).toBe(0);
    const there = [...program.out.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => name);
    const table =
      textOf('README.md')
        .match(/^\| `patchbay .*$/gm)
        ?.join('\n') ?? '';
    const named = [...table.matchAll(/`(?:patchbay )?([a-z]+)(?: [a-z]+)?(?: [A-Z ]+)?`/g)].map(
      ([, name]) => name,
    );
    expect(named.toSorted()).toEqual(there.filter((name) => name !== 'help').toSorted());
  }, 30_000);
});

/** What `npx` starts under that name. */
function inspectorProgram(): string {
  const require = createRequire(import.meta.url);
  const manifest = require.resolve('@modelcontextprotocol/inspector/package.json');
  const { bin } = require(manifest) as { bin: string | Readonly<Record<string, string>> };
  const file = typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? '');
  return manifest.replace(/package\.json$/, file);
}
