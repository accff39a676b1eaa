import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { type FileWatch, watchFiles } from '../../../src/config/watch.ts';
import { createWaits } from '../../kit/waits.ts';

let folder: string;
let watching: FileWatch;
let heard: number;
const waits = createWaits();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-watch-'));
  heard = 0;
});
afterEach(async () => {
  watching.stop();
  await rm(folder, { recursive: true });
});

const at = (name: string) => join(folder, name);

/** Resolves when the files as they are have been taken for what is to change. */
async function watch(files: () => readonly string[]): Promise<void> {
  let looks = 0;
  watching = watchFiles({
    files: () => {
      looks += 1;
      waits.check();
      return files();
    },
    changed: () => {
      heard += 1;
      waits.check();
    },
    log: SILENT,
  });
  watching.sign();
  // The second look begins when the first one is over.
  await waits.until(
    () => (looks >= 2 ? true : undefined),
    () => 'nobody looks',
  );
}

const untilHeard = (times: number) =>
  waits.until(
    () => (heard >= times ? true : undefined),
    () => `heard ${heard} times, not ${times}`,
  );

it('hears of a file that is written, replaced, taken away and put back, once each', async () => {
  await writeFile(at('a'), 'one');
  await watch(() => [at('a')]);
  await writeFile(at('a'), 'two');
  await untilHeard(1);
  await writeFile(at('b'), 'three');
  await rename(at('b'), at('a'));
  await untilHeard(2);
  await rm(at('a'));
  await untilHeard(3);
  await writeFile(at('a'), 'four');
  await untilHeard(4);
  expect(heard).toBe(4);
});

it('hears of a link in the way that leads somewhere else, and not of other files in the folder', async () => {
  await mkdir(at('v1'));
  await mkdir(at('v2'));
  await writeFile(join(at('v1'), 'a'), 'one');
  await writeFile(join(at('v2'), 'a'), 'two');
  await symlink('v1', at('..data'));
  await symlink('..data/a', at('a'));
  await watch(() => [at('a')]);
  await writeFile(at('noise'), 'x');
  await symlink('v2', at('..data~'));
  await rename(at('..data~'), at('..data'));
  await untilHeard(1);
  await writeFile(join(at('v2'), 'a'), 'three');
  await untilHeard(2);
  expect(heard).toBe(2);
});

it('takes a file that is of interest from now on as it is', async () => {
  await writeFile(at('a'), 'one');
  await writeFile(at('b'), 'one');
  const files = [at('a')];
  await watch(() => files);
  files.push(at('b'));
  watching.sign();
  await writeFile(at('a'), 'two');
  await untilHeard(1);
  await writeFile(at('b'), 'two');
  await untilHeard(2);
  expect(heard).toBe(2);
});

it('hears of what was written after it was read and before it was looked at, and of nothing older', async () => {
  await writeFile(at('old'), 'one');
  const { ctimeMs } = await stat(at('old'));
  await untilLater(ctimeMs);
  const readAt = Date.now();
  await untilLater(readAt);
  await writeFile(at('new'), 'two');
  const look = (...names: readonly string[]) => {
    watching = watchFiles({
      files: () => names.map(at),
      readAt: () => readAt,
      changed: () => {
        heard += 1;
        waits.check();
      },
      log: SILENT,
    });
  };
  look('old', 'new');
  await untilHeard(1);
  watching.stop();
  look('old');
  await writeFile(at('old'), 'three');
  await untilHeard(2);
  expect(heard).toBe(2);
});

/** Until files that are written have a later time than this, as exactly as it is compared. */
async function untilLater(ms: number): Promise<void> {
  await expect
    .poll(
      async () => {
        await writeFile(at('clock'), '');
        return (await stat(at('clock'))).ctimeMs;
      },
      { interval: 5 },
    )
    .toBeGreaterThan(ms + 2);
}
