import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, textOf } from '../gates/repository.ts';
import { type Ran, run } from '../unit/cli/run.ts';

type Step =
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'command'; readonly line: string; readonly shown: readonly string[] };

/** What a reader does, in order: files to write, and commands with what the page shows of their output. */
function stepsOf(page: string): readonly Step[] {
  const blocks = [...page.matchAll(/^```(yaml|sh|text)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, language, text = ''], at): readonly Step[] => {
    if (language === 'yaml') {
      return [{ kind: 'file', text }];
    }
    const [, nextLanguage, next = ''] = blocks[at + 1] ?? [];
    const shown = nextLanguage === 'text' ? next.split('\n').filter((line) => line !== '') : [];
    return language === 'sh' ? [{ kind: 'command', line: text.trim(), shown }] : [];
  });
}

/** The words of a command as a shell reads them; single quotes are the only ones on that page. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

describe('docs/tutorial.md', () => {
  let folder = '';
  const configuration = () => join(folder, 'my-gateway.yaml');

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'patchbay-tutorial-'));
    cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** `npx` finds these servers in the clone; it takes longer than they do, so they are started as it would. */
  const withoutNpx = (text: string) =>
    text
      .replaceAll('command: npx', 'command: node')
      .replaceAll(/\[-y, "(@modelcontextprotocol\/[\w-]+)"/g, '[node_modules/$1/dist/index.js');

  const does = (line: string): Promise<Ran> => {
    const words = wordsOf(line).map((word) => (word === 'my-gateway.yaml' ? configuration() : word));
    expect(words.slice(0, 2)).toEqual(['npx', 'patchbay']);
    return run(words.slice(2), { env: { ...process.env, HOME: folder } });
  };

  it('works from its first line to its last, and shows what is there', async () => {
    const steps = stepsOf(textOf('docs/tutorial.md'));
    expect(steps.map(({ kind }) => kind)).toEqual([
      ...['file', 'command', 'command', 'command'],
      ...['file', 'command', 'command', 'command'],
    ]);
    for (const step of steps) {
      if (step.kind === 'file') {
        const text = withoutNpx(step.text);
        expect(text).not.toContain('npx');
        writeFileSync(configuration(), text);
        continue;
      }
      const { code, stdout, stderr } = await does(step.line);
      expect(code, `${step.line}\n${stdout}${stderr}`).toBe(0);
      expect(step.shown, step.line).not.toEqual([]);
      expect(stdout.split('\n'), step.line).toEqual(expect.arrayContaining([...step.shown]));
    }
  }, 120_000);
});
