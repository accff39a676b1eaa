import { expect, it } from 'vitest';
import { createRation } from '../../../src/base/ration.ts';
import { type FleetEvents, noticed, OWNERLESS_PER_MINUTE } from '../../../src/upstream/fleet-events.ts';
import { createLogCatcher } from './transport-kit.ts';

it('notices that are nobody make few lines in the log, and short ones', () => {
  const { log, lines } = createLogCatcher();
  const events: FleetEvents = {
    connected: () => {},
    lost: () => {},
    failedFirst: () => {},
    updated: () => {},
    task: () => {},
    changed: () => {},
  };
  const source = { upstream: 'up', owner: undefined, lines: createRation(OWNERLESS_PER_MINUTE) };
  for (let times = 0; times < 1_000; times += 1) {
    noticed({ jsonrpc: '2.0', method: `x/${'m'.repeat(100_000)}` }, source, events, log);
  }
  expect(lines()).toHaveLength(OWNERLESS_PER_MINUTE);
  expect(lines().every((line) => line.length < 1_000)).toBe(true);
});
