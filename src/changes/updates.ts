import type { ResourceRoute } from '../catalog/snapshot.ts';
import { Pacer } from './pacer.ts';

/** Who wants to hear of one resource; `updated` gets the URI as the upstream names it. */
type Heard = (uri: string) => void;

/**
 * Interest in single resources, counted over all clients: an upstream is asked for each URI once, however many clients
 * wait for it, and no longer than the last of them does (case C-076).
 */
export class Updates {
  readonly #watch: (upstream: string, uris: ReadonlySet<string>) => void;
  readonly #interest = new Map<string, Map<string, Set<Pacer<string>>>>();

  /** `watch` is told the whole set of URIs of one upstream whenever it changes. */
  constructor(watch: (upstream: string, uris: ReadonlySet<string>) => void) {
    this.#watch = watch;
  }

  /** Returns how to end the interest; calling that twice is fine. */
  subscribe({ upstream, uri }: ResourceRoute, heard: Heard): () => void {
    const pacer = new Pacer<string>(heard);
    const uris = this.#interest.get(upstream) ?? new Map<string, Set<Pacer<string>>>();
    this.#interest.set(upstream, uris);
    const mine = uris.get(uri) ?? new Set();
    mine.add(pacer);
    if (!uris.has(uri)) {
      uris.set(uri, mine);
      this.#tell(upstream);
    }
    return () => {
      pacer.close();
      if (mine.delete(pacer) && mine.size === 0 && uris.get(uri) === mine) {
        uris.delete(uri);
        this.#tell(upstream);
      }
    };
  }

  /** An upstream says that a resource changed; it may be a part of one that is watched (spec: server/resources). */
  updated(upstream: string, uri: string): void {
    for (const [watched, pacers] of this.#interest.get(upstream) ?? []) {
      if (uri === watched || uri.startsWith(watched.endsWith('/') ? watched : `${watched}/`)) {
        for (const pacer of pacers) {
          pacer.offer(uri);
        }
      }
    }
  }

  #tell(upstream: string): void {
    this.#watch(upstream, new Set(this.#interest.get(upstream)?.keys()));
  }
}
