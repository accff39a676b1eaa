// `node test/kit/spent.mjs [filter…]` (Linux): runs the tests, and says what processor time each of their files takes, most
// first. `npm test` is to end within five minutes on two cores: this is what to look at when it does not.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, cwd, execPath, exit, stdout } from 'node:process';

const MOST = 40;
const seconds = (ms) => (ms / 1000).toFixed(1).padStart(8);

const folder = mkdtempSync(join(tmpdir(), 'patchbay-spent-'));
const into = join(folder, 'lines');
const run = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--reporter=dot'];
const { status } = spawnSync(execPath, [...run, ...argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, PATCHBAY_SPENT: into },
});
const lines = readFileSync(into, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
rmSync(folder, { recursive: true });

const whole = ({ own, children }) => own + children;
const sum = (of) => lines.reduce((all, line) => all + of(line), 0);
stdout.write(
  `\n${'all'.padStart(8)}${'loading'.padStart(8)}${'children'.padStart(9)}${'wall'.padStart(8)} s\n`,
);
for (const line of lines.toSorted((a, b) => whole(b) - whole(a)).slice(0, MOST)) {
  const { file, loading, children, wall } = line;
  const columns = [whole(line), loading, children, wall].map(seconds).join('');
  stdout.write(`${columns}  ${file.replace(`${cwd()}/`, '')}\n`);
}
stdout.write(`${seconds(sum(whole))}  all ${lines.length} files\n`);
exit(status ?? 1);
