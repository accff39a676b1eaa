import type { Ender } from '../base/ender.ts';
import type { RpcId } from '../protocol/json-rpc.ts';

/** Requests under way, by the client's ids: clients do use one id twice at once (case C-061). */
export type Calls = Map<RpcId, Set<Ender>>;

/** Registers a request; returns how to take it out again. */
export function track(calls: Calls, id: RpcId, ender: Ender): () => void {
  const same = calls.get(id) ?? new Set();
  same.add(ender);
  calls.set(id, same);
  return () => {
    same.delete(ender);
    if (same.size === 0 && calls.get(id) === same) {
      calls.delete(id);
    }
  };
}

/** Aborts every request of that id; any other value names none. */
export function cancel(calls: Calls, id: unknown): void {
  for (const ender of calls.get(id as RpcId) ?? []) {
    ender.abort();
  }
}
