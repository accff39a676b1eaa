import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import { createLog } from '../../../src/base/log.ts';
import { createSealer } from '../../../src/base/sealed.ts';
import type { TaskUpdates } from '../../../src/changes/updates.ts';
import { serveTasks, tasksElsewhere } from '../../../src/relay/tasks-elsewhere.ts';
import { MemoryState, SharedMemory } from '../../../src/state/memory-state.ts';
import { Peers } from '../../../src/state/peers.ts';

const log = createLog({ level: 'silent', readable: false });

/** Two replicas; the first has tasks. */
function replicas() {
  const memory = new SharedMemory();
  const sealer = createSealer(randomBytes(32));
  const [home, there] = [memory, memory].map((each) => new Peers(new MemoryState(each), sealer, log));
  const listening = new Map<string, (task: JsonObject) => void>();
  const subscribe: TaskUpdates['subscribe'] = ({ upstream, taskId }, heard) => {
    listening.set(`${upstream} ${taskId}`, heard);
    return () => listening.delete(`${upstream} ${taskId}`);
  };
  const served = home ?? expect.unreachable();
  serveTasks(served, { sealer, updates: { subscribe } });
  const elsewhere = tasksElsewhere(there ?? expect.unreachable(), log) ?? expect.unreachable();
  const idOf = (taskId: string, more: JsonObject = {}) =>
    sealer.seal('task', { upstream: 'up', taskId, principal: 'alice', home: served.name, ...more });
  return { elsewhere, home: served.name, idOf, listening };
}

it('a task is watched at the replica that has it, once for all who listen, and as long as they do', async () => {
  const { elsewhere, home, idOf, listening } = replicas();
  const heard: unknown[] = [];
  const listen = (id: string, by: string) =>
    elsewhere.watch(home, { id, principal: 'alice' }, (task) => heard.push([by, task['status']]));
  const [one, two] = [idOf('one'), idOf('two')];
  const stops = [listen(one, 'a'), listen(one, 'b'), listen(two, 'c')];
  await expect.poll(() => [...listening.keys()]).toEqual(['up one', 'up two']);
  listening.get('up one')?.({ status: 'working' });
  listening.get('up two')?.({ status: 'completed' });
  await expect
    .poll(() => heard)
    .toEqual([
      ['a', 'working'],
      ['b', 'working'],
      ['c', 'completed'],
    ]);
  stops[0]?.();
  stops[2]?.();
  await expect.poll(() => [...listening.keys()]).toEqual(['up one']);
  stops[1]?.();
  await expect.poll(() => listening.size).toBe(0);
});

it('a task is not watched for somebody else, nor where it is of another replica, nor under a made-up id', async () => {
  const { elsewhere, home, idOf, listening } = replicas();
  const heard = () => expect.unreachable();
  const watch = (id: string, principal = 'alice') => elsewhere.watch(home, { id, principal }, heard);
  watch(idOf('stolen'), 'bob');
  watch(idOf('of another', { home: 'another' }));
  watch('made up');
  // A fence: what is asked for after them.
  watch(idOf('hers'));
  await expect.poll(() => listening.size).toBe(1);
  expect([...listening.keys()]).toEqual(['up hers']);
});
