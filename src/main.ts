#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { createEnding } from './cli/ending.ts';
import { EXIT, processIo } from './cli/io.ts';
import { runCli } from './cli/program.ts';

const ending = createEnding(process.stderr.isTTY === true);
// Rejections that nobody handles come here as well.
process.on('uncaughtException', (thrown) => ending.fault(thrown));
try {
  process.exitCode = await runCli(process.argv, processIo(fileURLToPath(import.meta.url), ending.stopped));
} catch (thrown) {
  ending.fault(thrown);
}
if (ending.faulty) {
  process.exitCode = EXIT.failed;
}
