import type { JsonObject } from '../base/json.ts';
import type { ResourceRoute } from '../catalog/snapshot.ts';
import { Interest } from './interest.ts';
import { Pacer } from './pacer.ts';

/** Updates of single resources, on their way from the upstream that told of them to the clients that watch them. */
export class Updates {
  readonly #interest: Interest<Pacer<string>>;

  /** `watch` is told the whole set of URIs of one upstream whenever it changes. */
  constructor(watch: (upstream: string, uris: ReadonlySet<string>) => void) {
    this.#interest = new Interest(watch);
  }

  /** `heard` gets the URI as the upstream names it. Returns how to stop; calling that twice is fine. */
  subscribe({ upstream, uri }: ResourceRoute, heard: (uri: string) => void): () => void {
    const pacer = new Pacer<string>(heard);
    const release = this.#interest.add(upstream, uri, pacer);
    return () => {
      pacer.close();
      release();
    };
  }

  /** An upstream says that a resource changed; it may be a part of one that is watched (spec: server/resources). */
  updated(upstream: string, uri: string): void {
    for (const [watched, pacers] of this.#interest.of(upstream)) {
      if (uri === watched || uri.startsWith(watched.endsWith('/') ? watched : `${watched}/`)) {
        for (const pacer of pacers) {
          pacer.offer(uri);
        }
      }
    }
  }
}

/** States of tasks, on their way to the clients that listen for them (SEP-2663). Each says all, so none is joined. */
export class TaskUpdates {
  readonly #interest: Interest<(task: JsonObject) => void>;

  /** `watch` is told the whole set of task ids of one upstream whenever it changes. */
  constructor(watch: (upstream: string, tasks: ReadonlySet<string>) => void) {
    this.#interest = new Interest(watch);
  }

  /** `heard` gets the params of the notice, with the upstream's own id. Returns how to stop. */
  subscribe(upstream: string, taskId: string, heard: (task: JsonObject) => void): () => void {
    return this.#interest.add(upstream, taskId, heard);
  }

  updated(upstream: string, task: JsonObject): void {
    for (const heard of this.#interest.of(upstream).get(String(task['taskId'])) ?? []) {
      heard(task);
    }
  }
}
