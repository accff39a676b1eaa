import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { FINDINGS } from '../../src/vetting/finding-table.ts';
import { lint } from '../../src/vetting/lint.ts';
import { asServed } from '../../src/vetting/offered.ts';
import { everythingStdio, filesystemStdio, memoryStdio } from '../kit/real-servers.ts';
import { startGateway } from '../kit/start-gateway.ts';
import { type Measured, measure } from './measure.ts';

/** What is found out otherwise than by looking at one server's words. */
const ELSEWHERE = /^pin\./;

it('no finding is worse than it was when its rule was made', () => {
  const { scores, alarms, misses } = measure('known');
  expect({ alarms, misses }).toEqual({ alarms: [], misses: [] });
  const ids = Object.keys(FINDINGS).filter((id) => !ELSEWHERE.test(id));
  expect([...scores.keys()].toSorted()).toEqual(ids.toSorted());
});

const alarmsAboutGood = ({ alarms }: Measured) => alarms.filter((each) => each.startsWith('good/'));

it('of what was written without the rules in mind most is found, and next to nothing good is taken for bad', () => {
  const [first, second] = [measure('first'), measure('second')];
  expect(alarmsAboutGood(first)).toEqual([]);
  expect(first.caught / first.poisoned).toBeGreaterThan(0.9);
  expect(alarmsAboutGood(second).length).toBeLessThanOrEqual(2);
  expect(second.caught / second.poisoned).toBeGreaterThan(0.85);
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
