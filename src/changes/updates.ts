import type { JsonObject } from '../base/json.ts';
import { wholesOf } from '../base/uri-parts.ts';
import { Interest, type OwnerOf, type Place } from './interest.ts';
import { Pacer } from './pacer.ts';

/** Updates of single resources, on their way from the upstream that told of them to the clients that watch them. */
export class Updates {
  readonly #interest: Interest<Pacer<string>>;

  /** `watch` is told the whole set of URIs wanted in one place whenever it changes. */
  constructor(ownerOf: OwnerOf, watch: (place: Place, uris: ReadonlySet<string>) => void) {
    this.#interest = new Interest(ownerOf, watch);
  }

  /**
   * `heard` gets the URI as the upstream names it. With a party, what the upstream tells that user. Returns how to stop;
   * calling that twice is fine.
   */
  subscribe({ uri, ...place }: Place & { readonly uri: string }, heard: (uri: string) => void): () => void {
    const pacer = new Pacer<string>(heard);
    const release = this.#interest.add(place, uri, pacer);
    return () => {
      pacer.close();
      release();
    };
  }

  /**
   * An upstream says that a resource changed, to one user or to everybody; it may be a part of one that is watched
   * (spec: server/resources). Where too many parts change at once, those who watch the whole are told that it did.
   */
  updated(upstream: string, uri: string, owner?: string): void {
    const interest = this.#interest.of(upstream, owner);
    for (const watched of interest.size === 0 ? [] : (wholesOf(uri) ?? [uri])) {
      for (const pacer of interest.get(watched) ?? []) {
        pacer.offer(pacer.full ? watched : uri);
      }
    }
  }
}

/** States of tasks, on their way to the clients that listen for them (SEP-2663). Each says all, so none is joined. */
export class TaskUpdates {
  readonly #interest: Interest<(task: JsonObject) => void>;

  /** `watch` is told the whole set of task ids wanted in one place whenever it changes. */
  constructor(ownerOf: OwnerOf, watch: (place: Place, tasks: ReadonlySet<string>) => void) {
    this.#interest = new Interest(ownerOf, watch);
  }

  /** `heard` gets the params of the notice, with the upstream's own id. Returns how to stop. */
  subscribe(
    { taskId, ...place }: Place & { readonly taskId: string },
    heard: (task: JsonObject) => void,
  ): () => void {
    return this.#interest.add(place, taskId, heard);
  }

  updated(upstream: string, task: JsonObject, owner?: string): void {
    for (const heard of this.#interest.of(upstream, owner).get(String(task['taskId'])) ?? []) {
      heard(task);
    }
  }
}
