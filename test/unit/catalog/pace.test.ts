import { beforeEach, describe, expect, it } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { Pace } from '../../../src/catalog/pace.ts';
import { Reader } from '../../../src/catalog/reader.ts';
import type { Kind } from '../../../src/protocol/model.ts';
import { list } from './parts.ts';
import { createTimeline, settle, type Timeline } from './timeline.ts';

describe('the pace of a list', () => {
  const read = (pace: Pace, from: number, took: number) => {
    pace.begin(from);
    pace.end(from + took);
  };

  it('a change by itself may be read at once, however long reading takes', () => {
    const pace = new Pace();
    read(pace, 0, 1_000);
    expect(pace.readyAt).toBe(1_000);
    read(pace, 60_000, 1_000);
    expect(pace.readyAt).toBe(61_000);
  });

  it('one that follows another waits the longer, nine times as long as reading took at the most', () => {
    const pace = new Pace();
    const rests: number[] = [];
    for (let at = 0, times = 0; times < 7; times += 1) {
      read(pace, at, 100);
      rests.push(pace.readyAt - at - 100);
      at = pace.readyAt;
    }
    expect(rests).toEqual([0, 100, 300, 700, 900, 900, 900]);
  });
});

describe('a server that says without end that a list changed', () => {
  let time: Timeline;
  let reads: number;
  let reader: Reader;
  const TOOK = 500;

  beforeEach(() => {
    time = createTimeline();
    reads = 0;
    reader = new Reader(
      'up',
      {
        read: (_upstream: string, kind: Kind) => {
          reads += 1;
          return new Promise((resolve) => time.schedule(TOOK, () => resolve(list(kind, []))));
        },
        log: SILENT,
        debounceMs: () => 50,
        schedule: time.schedule,
        now: time.now,
      },
      (kinds) => void reader.refresh(kinds),
      () => {},
    );
  });

  const pass = async (ms: number, each: () => void) => {
    for (let left = ms; left > 0; left -= 50) {
      each();
      await time.advance(50);
      await settle();
    }
  };

  it('has it read for a small share of the time', async () => {
    await pass(100_000, () => reader.invalidate('tools'));
    expect(reads * TOOK).toBeLessThan(100_000 * 0.15);
    expect(reads).toBeGreaterThan(10);
  });

  it('and once it is quiet, the last change is read, and the next one at once', async () => {
    await pass(20_000, () => reader.invalidate('tools'));
    const before = reads;
    await pass(20_000, () => {});
    expect(reads).toBeGreaterThan(before);
    const quiet = reads;
    reader.invalidate('tools');
    await pass(100, () => {});
    expect(reads).toBe(quiet + 1);
  });

  it('a change while the list is being read is read afterwards', async () => {
    void reader.refresh(['tools']);
    await settle();
    reader.invalidate('tools');
    await pass(TOOK + 100, () => {});
    expect(reads).toBe(2);
  });
});
