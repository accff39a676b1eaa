import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { FINDINGS } from '../../src/vetting/finding-table.ts';
import { lint } from '../../src/vetting/lint.ts';
import { asServed } from '../../src/vetting/offered.ts';
import { everythingStdio, filesystemStdio, memoryStdio } from '../kit/real-servers.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { measure } from './measure.ts';

/** What is found out otherwise than by looking at one server's words. */
const ELSEWHERE = /^pin\./;

it('no finding is worse than it was when its rule was made', () => {
  const { scores, alarms, misses } = measure('known');
  expect({ alarms, misses }).toEqual({ alarms: [], misses: [] });
  const ids = Object.keys(FINDINGS).filter((id) => !ELSEWHERE.test(id));
  expect([...scores.keys()].toSorted()).toEqual(ids.toSorted());
});

it('what the rules were not made for is found in half of the cases, and next to nothing good is taken for bad', () => {
  const { scores, alarms } = measure('held out');
  const all = [...scores.values()];
  const sum = (of: 'right' | 'misses') => all.reduce((total, score) => total + score[of], 0);
  const alarmsAboutGood = alarms.filter((each) => each.startsWith('good/'));
  expect(alarmsAboutGood).toEqual([]);
  expect(sum('right') / (sum('right') + sum('misses'))).toBeGreaterThan(0.5);
});

it('of published servers only what their authors would grant is found', async () => {
  const files = filesystemStdio(tmpdir());
  const upstreams = { everything: everythingStdio(), files, memory: memoryStdio() };
  await using gateway = await startGateway({ upstreams });
  await gateway.gateway.settled();
  const { parts } = gateway.gateway.store.current;
  expect([...parts.keys()]).toEqual(Object.keys(upstreams));
  const found = lint([...parts.values()].map((part) => asServed(part)));
  expect(found.filter(({ id, severity }) => severity === 'error' || id.startsWith('text.'))).toEqual([]);
});
