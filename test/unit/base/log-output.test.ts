import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { inRepository } from '../../gates/generate.ts';

/** A process that logs so many lines and ends at once; `readable`: as for a terminal. */
const program = (lines: number, readable: boolean) => `
  import { createLog } from ${JSON.stringify(inRepository('src/base/log.ts').href)};
  const log = createLog({ level: 'info', readable: ${readable} });
  process.stderr.isTTY;
  for (let at = 0; at < ${lines}; at += 1) log.info({ at, pad: 'x'.repeat(1000) }, 'a line');
  log.fatal('the last line');
  process.exit(3);`;

const start = (lines: number, readable: boolean, stderr: number | 'pipe') =>
  spawn(process.execPath, ['--input-type=module', '-e', program(lines, readable)], {
    stdio: ['ignore', 'ignore', stderr],
  });

describe.each([true, false])('the log of a process that ends (readable: %s)', (readable) => {
  it('is whole in a file, each line once', async () => {
    const file = join(tmpdir(), `patchbay-log-output-${process.pid}-${readable}`);
    const child = start(2_000, readable, openSync(file, 'w'));
    expect(await once(child, 'exit')).toEqual([3, null]);
    const log = readFileSync(file, 'utf8');
    rmSync(file);
    expect(log.match(/a line/g)).toHaveLength(2_000);
    expect(log.match(/the last line/g)).toHaveLength(1);
  });

  it('is whole in a pipe that is read', async () => {
    const child = start(2_000, readable, 'pipe');
    const read = child.stderr === null ? '' : await text(child.stderr);
    expect(read.match(/a line/g)).toHaveLength(2_000);
    expect(read.match(/the last line/g)).toHaveLength(1);
  });

  it('keeps nothing alive where the disk is full', async () => {
    expect(await once(start(100, readable, openSync('/dev/full', 'w')), 'exit')).toEqual([3, null]);
  });

  it('keeps nothing alive where nobody reads the pipe', async () => {
    expect(await once(start(2_000, readable, 'pipe'), 'exit')).toEqual([3, null]);
  });
});
