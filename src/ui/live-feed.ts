import type { FeedEvent } from '../observe/feed.ts';
import { type Api, ApiError, refusalOf } from './api.ts';
import { eventsOf } from './event-stream.ts';

/** What has happened; `at` is ISO 8601. */
export type Told = { readonly at: string } & (FeedEvent | { readonly event: 'begin' });

export interface Follower {
  /** Several at once where they came at once. */
  readonly heard: (told: readonly Told[]) => void;
  /** Whether it is connected; why not, where it has ended. */
  readonly connected: (is: boolean, why?: ApiError) => void;
}

/** Between tries to connect again: from this to that many ms. */
const WAIT_MS = { first: 1_000, most: 30_000 };

/** Follows what happens at the gateway, and comes back where the connection ends. Returns how to stop. */
export function follow(api: Api, { heard, connected }: Follower): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  let waiting: Told[] = [];
  const tell = () => {
    if (!signal.aborted) {
      heard(waiting);
    }
    waiting = [];
  };
  const take = (told: Told) => {
    if (waiting.length === 0) {
      setTimeout(tell, 100);
    }
    waiting.push(told);
  };
  const run = async () => {
    let wait = WAIT_MS.first;
    while (!signal.aborted) {
      try {
        const response = await api.send('api/events', { headers: { accept: 'text/event-stream' }, signal });
        if (!response.ok) {
          throw await refusalOf(response);
        }
        connected(true);
        wait = WAIT_MS.first;
        for await (const data of eventsOf(response)) {
          take(JSON.parse(data) as Told);
        }
        connected(false);
      } catch (thrown) {
        if (signal.aborted) {
          return;
        }
        connected(false, thrown instanceof ApiError ? thrown : undefined);
      }
      await pause(wait, signal);
      wait = Math.min(wait * 2, WAIT_MS.most);
    }
  };
  void run();
  return () => stopped.abort();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
