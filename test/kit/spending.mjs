// Loaded before each file of tests by `spent.mjs`: writes down what the file takes, in ms, as a line of JSON.
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';

const into = process.env['PATCHBAY_SPENT'];

const begun = spent();
let loaded = begun;

beforeAll(() => {
  loaded = spent();
});

afterAll(() => {
  const { own, children, at } = spent();
  const line = {
    file: expect.getState().testPath,
    own: own - begun.own,
    loading: loaded.own - begun.own,
    children: children - begun.children,
    wall: at - begun.at,
  };
  appendFileSync(into, `${JSON.stringify(line)}\n`);
});

/** Processor time of this process, and of all children that have ended, with theirs. */
function spent() {
  const { user, system } = process.cpuUsage();
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // proc(5): cutime and cstime, in hundredths of a second.
  const children = (Number(fields[13]) + Number(fields[14])) * 10;
  return { own: (user + system) / 1000, children, at: performance.now() };
}
