import { afterEach, describe, expect, it, vi } from 'vitest';
import { SILENT } from '../../../src/base/log.ts';
import { buildCatalog, type Swap } from '../../../src/catalog/snapshot.ts';
import { Hub } from '../../../src/changes/hub.ts';
import { CHANGES } from '../../../src/protocol/model.ts';

const catalog = buildCatalog([], { separator: '.', maxLength: 128 });

function swapOf(owner: string | undefined): Swap {
  return { before: catalog, after: catalog, changes: ['tools', 'prompts'], owner };
}

function createWorld() {
  const hub = new Hub(SILENT);
  const heard: string[] = [];
  const listen = (grant: string, name = grant, place = 'default') =>
    hub.subscribe({
      grant,
      place,
      wants: new Set(CHANGES),
      moved: () => [],
      sees: ({ changes }) => changes.filter((change) => change === 'tools'),
      notify: (change) => {
        heard.push(`${name} ${change}`);
        if (name === 'broken') {
          throw new Error('no reader');
        }
      },
    });
  return { hub, heard, listen };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('the hub', () => {
  it('holds no change back for longer than usual where the clock was set back', () => {
    vi.useFakeTimers();
    const { hub, heard, listen } = createWorld();
    listen('ann');
    hub.publish(swapOf(undefined));
    vi.setSystemTime(Date.now() - 3_600_000);
    hub.publish(swapOf(undefined));
    expect(heard).toHaveLength(1);
    vi.advanceTimersByTime(500);
    expect(heard).toHaveLength(2);
  });

  it('tells of a list of one principal at one place those that listen there for it', () => {
    const { hub, heard, listen } = createWorld();
    listen('ann', 'ann here');
    listen('ann', 'ann there', 'view few');
    listen('bob', 'bob there', 'view few');
    hub.tell('ann', 'view few', 'tools');
    expect(heard).toEqual(['ann there tools']);
  });

  it('gives a swap of one principal to all of its listeners, and to no other', () => {
    const { hub, heard, listen } = createWorld();
    listen('ann', 'ann 1');
    listen('ann', 'ann 2');
    listen('bob');
    hub.publish(swapOf('ann'));
    hub.publish(swapOf('nobody'));
    expect(heard).toEqual(['ann 1 tools', 'ann 2 tools']);
  });

  it('gives any other swap to all who see something of it', () => {
    const { hub, heard, listen } = createWorld();
    listen('ann');
    listen('bob', 'broken');
    listen('cec');
    hub.publish(swapOf(undefined));
    expect(heard).toEqual(['ann tools', 'broken tools', 'cec tools']);
  });

  it('tells nobody who has gone, and leaves the others of that principal alone', () => {
    const { hub, heard, listen } = createWorld();
    const stop = listen('ann', 'ann 1');
    listen('ann', 'ann 2');
    stop();
    stop();
    hub.publish(swapOf('ann'));
    expect(heard).toEqual(['ann 2 tools']);
    expect(hub.size).toBe(1);
  });
});
