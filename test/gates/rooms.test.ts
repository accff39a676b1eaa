import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './repository.ts';

/** What the check needs of the repository, but for the sources. */
const NEEDED = ['tsconfig.json', '.dependency-cruiser.cjs', 'package.json', 'test/gates/rooms.mjs'];

/** Imports that must not be, each in a file that is there already, and the rule that has to name it. */
const PLANTED = [
  ['src/base/time.ts', '../protocol/model.ts', 'base-may-import'],
  ['src/protocol/sse.ts', 'node:fs', 'io-stays-at-the-edge'],
  ['src/protocol/model.ts', './era-codec.ts', 'no-cycles'],
  ['src/relay/hello.ts', 'fastify', 'fastify-stays-in-front'],
  ['src/front/guard.ts', 'undici', 'undici-and-processes-stay-in-upstream'],
  ['src/catalog/flight.ts', '../upstream/peek-id.ts', 'catalog-knows-its-sisters-as-types'],
  ['src/relay/list.ts', '../config/settings.ts', 'settings-as-types-only'],
  ['src/front/streams.ts', '../relay/relay.ts', 'front-gets-handles-injected'],
] as const;

/** The sources that take part, which are read in a third of the time that all take. */
const SOURCES = PLANTED.flatMap(([file, target]) =>
  target.startsWith('.') ? [file, join(dirname(file), target)] : [file],
);

/** That the tree keeps the rules is `npm run rooms`; this is about the rules themselves. */
describe('the check of the rooms', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'patchbay-rooms-'));
    await Promise.all([...NEEDED, ...SOURCES].map((part) => cp(join(ROOT, part), join(folder, part))));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('names every forbidden import, and notices files that the cruise did not see', async () => {
    const change = async (file: string, edit: (text: string) => string) =>
      writeFile(join(folder, file), edit(await readFile(join(folder, file), 'utf8')));
    for (const [file, target] of PLANTED) {
      await change(file, (text) => `import '${target}';\n${text}`);
    }
    await writeFile(join(folder, 'src/base/unseen.ts'), 'export const unseen = 1;\n');
    await change('.dependency-cruiser.cjs', (text) =>
      text.replace('doNotFollow:', "exclude: { path: 'unseen' }, doNotFollow:"),
    );

    const check = promisify(execFile)(process.execPath, ['test/gates/rooms.mjs'], { cwd: folder });
    const { code, stderr } = (await check.catch((thrown: { code: number; stderr: string }) => thrown)) as {
      code?: number;
      stderr: string;
    };
    expect(code).toBe(1);
    for (const [file, , rule] of PLANTED) {
      // A cycle may be reported from its other end.
      const lines = stderr.split('\n').filter((line) => line.startsWith(`${rule}: `));
      expect(
        lines.some((line) => line.includes(file)),
        `${rule} about ${file}`,
      ).toBe(true);
    }
    expect(stderr).toMatch(/the cruise saw \d+ modules of \d+/);
  });
});
