import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Sealer } from '../base/sealed.ts';
import { backoff, pause } from '../base/time.ts';
import type { TaskUpdates } from '../changes/updates.ts';
import type { Peers } from '../state/peers.ts';
import type { Talk } from '../state/talk.ts';
import { openTask, type TasksElsewhere } from './tasks.ts';

/** States of tasks that another replica's child process has, on their way to the clients that listen here. */

const WATCH = 'task-watch';
/** A replica that cannot be reached is tried again after so long, in ms; doubled each time. */
const REST_MS = 500;
const LONGEST_REST_MS = 30_000;
/** Most tasks that another replica may watch here. */
const MOST_WATCHED = 100_000;

/** Undefined where there can be no others. */
export function tasksElsewhere(peers: Peers, log: Log): TasksElsewhere | undefined {
  const homes = new Map<string, Home>();
  return peers.shared
    ? {
        home: peers.name,
        isElsewhere: (home) => peers.isOther(home),
        watch(name, task, heard) {
          const home = homes.get(name) ?? new Home(name, peers, log);
          homes.set(name, home);
          const leave = home.add(task, heard);
          return () => {
            leave();
            if (home.idle && homes.get(name) === home) {
              homes.delete(name);
            }
          };
        },
      }
    : undefined;
}

interface Watched {
  readonly principal: string;
  readonly listeners: Set<(task: JsonObject) => void>;
}

/** One replica, and what is watched there: one conversation for all of it, begun again when it was cut. */
class Home {
  readonly #name: string;
  readonly #peers: Peers;
  readonly #log: Log;
  readonly #watched = new Map<string, Watched>();
  #talk: Talk | undefined;
  #running: AbortController | undefined;

  constructor(name: string, peers: Peers, log: Log) {
    this.#name = name;
    this.#peers = peers;
    this.#log = log;
  }

  get idle(): boolean {
    return this.#watched.size === 0;
  }

  /** `id`: as the client has it. Returns how to stop; calling that twice is fine. */
  add(
    { id, principal }: { readonly id: string; readonly principal: string },
    heard: (task: JsonObject) => void,
  ): () => void {
    const watched = this.#watched.get(id) ?? { principal, listeners: new Set() };
    const isNew = watched.listeners.size === 0;
    watched.listeners.add(heard);
    this.#watched.set(id, watched);
    if (this.#running === undefined) {
      this.#running = new AbortController();
      void this.#run(this.#running.signal);
    } else if (isNew) {
      this.#talk?.say({ watch: [{ id, principal }] });
    }
    return () => {
      if (watched.listeners.delete(heard) && watched.listeners.size === 0) {
        this.#watched.delete(id);
        this.#talk?.say({ unwatch: id });
      }
      if (this.idle) {
        this.#running?.abort();
        this.#running = undefined;
      }
    };
  }

  /** Never rejects. Whatever happened while nothing could be heard is learned by asking, as without any notices. */
  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const since = Date.now();
      const watch = [...this.#watched].map(([id, { principal }]) => ({ id, principal }));
      const heard = ({ id, task }: JsonObject) => {
        if (isObject(task)) {
          for (const listener of this.#watched.get(String(id))?.listeners ?? []) {
            listener(task);
          }
        }
      };
      const talk = this.#peers.ask(this.#name, WATCH, { watch }, { signal, heard });
      this.#talk = talk;
      try {
        await talk.answer;
      } catch (thrown) {
        this.#log.debug({ err: thrown }, 'tasks of another replica are not heard of');
      }
      failures = Date.now() - since > LONGEST_REST_MS ? 0 : failures;
      await pause(signal.aborted ? 0 : backoff(failures, REST_MS, LONGEST_REST_MS), signal);
    }
  }
}

/** Serves them: each sealed id is opened here as well, and has to be of the user who is said to listen. */
export function serveTasks(
  peers: Peers,
  { sealer, updates }: { readonly sealer: Sealer; readonly updates: Pick<TaskUpdates, 'subscribe'> },
): void {
  peers.serve(WATCH, ({ watch }, talk) => {
    const watched = new Map<string, () => void>();
    const add = (wanted: unknown): void => {
      for (const each of Array.isArray(wanted) ? wanted : []) {
        const id = stringAt(each, 'id') ?? '';
        const task = openTask(sealer, id);
        const isTheirs = task?.home === peers.name && task.principal === stringAt(each, 'principal');
        if (isTheirs && !watched.has(id) && watched.size < MOST_WATCHED) {
          const { upstream, taskId } = task;
          watched.set(
            id,
            updates.subscribe({ upstream, taskId }, (state) => talk.say({ id, task: state })),
          );
        }
      }
    };
    return new Promise((resolve) => {
      talk.signal.addEventListener(
        'abort',
        () => {
          for (const stop of watched.values()) {
            stop();
          }
          resolve({});
        },
        { once: true },
      );
      add(watch);
      talk.listen((said) => {
        add(said['watch']);
        const id = String(said['unwatch']);
        watched.get(id)?.();
        watched.delete(id);
      });
    });
  });
}
