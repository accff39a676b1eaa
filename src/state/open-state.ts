import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import { MemoryState } from './memory-state.ts';
import { createRedisState } from './redis-state.ts';
import type { State } from './state.ts';

/** The state that the configuration asks for; nothing is connected yet. */
export function openState(settings: Settings['state'], log: Log): State {
  return settings.type === 'redis' ? createRedisState(settings, log) : new MemoryState();
}
