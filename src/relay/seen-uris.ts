import type { Principal } from '../access/principal.ts';
import { Budget } from '../base/budget.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { exposeLinks } from '../catalog/links.ts';
import type { ResourceRoute } from '../catalog/snapshot.ts';
import type { Peers } from '../state/peers.ts';

/** Most URIs remembered for one principal: older ones go first. */
const MOST_URIS = 2_000;
/** A longer one is no name that somebody would ask for. */
const LONGEST_URI = 8_192;
/** What is remembered for all principals together, in bytes; whoever came by longest ago is forgotten first. */
const MOST_BYTES = 32 * 1024 * 1024;
/** What one URI takes besides its two forms, in bytes; in round figures. */
const BYTES_EACH = 200;
/** Most different URIs in one result: each is looked up, and a server decides how many there are. */
const MOST_IN_RESULT = 20_000;

/** What other replicas are told: links of one result. */
const SEEN = 'seen-uris';

/**
 * URIs that results gave to a principal: a resource may be absent from every list and still be linked
 * (spec 2026-07-28: server/tools, Resource Links). Keyed by the URI as the client saw it. Other replicas are told, since
 * a link may be followed there.
 */
export class SeenUris {
  readonly #seen = new Map<string, Map<string, ResourceRoute>>();
  readonly #bytes = new Map<string, number>();
  readonly #budget = new Budget<string>(MOST_BYTES);
  readonly #peers: Pick<Peers, 'tell' | 'onTold'> | undefined;
  /** New ones of this turn, by principal: those of one result are told as one. */
  readonly #untold = new Map<string, [uri: string, route: ResourceRoute][]>();

  constructor(peers?: Pick<Peers, 'tell' | 'onTold'> | undefined) {
    this.#peers = peers;
    peers?.onTold(SEEN, ({ key, routes }) => {
      // Told by `#tell` of another replica.
      for (const [uri, route] of routes as [string, ResourceRoute][]) {
        this.#keep(String(key), uri, route);
      }
    });
  }

  find(principal: Principal, uri: string): ResourceRoute | undefined {
    return this.#seen.get(principal.key)?.get(uri);
  }

  note({ key }: Principal, uri: string, route: ResourceRoute): void {
    if (uri.length > LONGEST_URI) {
      return;
    }
    if (this.#peers !== undefined && !this.#seen.get(key)?.has(uri)) {
      this.#tellLater(key, uri, route);
    }
    this.#keep(key, uri, route);
  }

  #tellLater(key: string, uri: string, route: ResourceRoute): void {
    if (this.#untold.size === 0) {
      queueMicrotask(() => this.#tell());
    }
    const mine = this.#untold.get(key) ?? [];
    this.#untold.set(key, mine);
    mine.push([uri, route]);
  }

  #tell(): void {
    for (const [key, routes] of this.#untold) {
      this.#peers?.tell(SEEN, { key, routes: routes.slice(-MOST_URIS) });
    }
    this.#untold.clear();
  }

  #keep(key: string, uri: string, route: ResourceRoute): void {
    const mine = this.#seen.get(key) ?? new Map<string, ResourceRoute>();
    this.#seen.set(key, mine);
    let bytes = (this.#bytes.get(key) ?? 0) + (mine.has(uri) ? 0 : sizeOf(uri, route));
    mine.delete(uri);
    mine.set(uri, route);
    const [oldest] = mine.size > MOST_URIS ? mine : [];
    if (oldest !== undefined) {
      mine.delete(oldest[0]);
      bytes -= sizeOf(...oldest);
    }
    this.#bytes.set(key, bytes);
    this.#budget.hold(key, bytes, () => {
      this.#seen.delete(key);
      this.#bytes.delete(key);
    });
  }
}

function sizeOf(uri: string, route: ResourceRoute): number {
  return BYTES_EACH + uri.length + route.uri.length;
}

/**
 * `expose` for the URIs of one result: asked once for each. Throws UPSTREAM_TOO_LARGE where there are too many
 * different ones.
 */
export function onceEach(upstream: string, expose: (uri: string) => string): (uri: string) => string {
  const known = new Map<string, string>();
  return (uri) => {
    const before = known.get(uri);
    if (before !== undefined) {
      return before;
    }
    if (known.size >= MOST_IN_RESULT) {
      const logged = `it names more than ${MOST_IN_RESULT} resources`;
      throw new GatewayError('UPSTREAM_TOO_LARGE', { upstream, logged });
    }
    const exposed = expose(uri);
    known.set(uri, exposed);
    return exposed;
  };
}

/**
 * A result with every resource URI in it as the client knows it: resource links and embedded resources of a tool or
 * prompt, contents of a read. `expose` gives the client's form and may take note. The same object when nothing changes.
 */
export function withExposedUris(result: JsonObject, expose: (uri: string) => string): JsonObject {
  const content = mapMember(exposeLinks(result, expose), 'content', (block) => exposeBlock(block, expose));
  const contents = mapMember(content, 'contents', (block) => exposeMember(block, expose));
  return mapMember(contents, 'messages', (message) => {
    const inner = isObject(message) ? message['content'] : undefined;
    const exposed = exposeBlock(inner, expose);
    return exposed === inner || !isObject(message) ? message : { ...message, content: exposed };
  });
}

function mapMember(value: JsonObject, key: string, map: (member: unknown) => unknown): JsonObject {
  const members = value[key];
  if (!Array.isArray(members)) {
    return value;
  }
  let mapped: unknown[] | undefined;
  for (const [at, member] of members.entries()) {
    const next = map(member);
    if (next !== member) {
      mapped ??= [...(members as readonly unknown[])];
      mapped[at] = next;
    }
  }
  return mapped === undefined ? value : { ...value, [key]: mapped };
}

function exposeBlock(block: unknown, expose: (uri: string) => string): unknown {
  if (!isObject(block)) {
    return block;
  }
  if (block['type'] === 'resource_link') {
    return exposeMember(block, expose);
  }
  if (block['type'] === 'resource') {
    const resource = exposeMember(block['resource'], expose);
    return resource === block['resource'] ? block : { ...block, resource };
  }
  return block;
}

function exposeMember(block: unknown, expose: (uri: string) => string): unknown {
  const uri = stringAt(block, 'uri');
  if (uri === undefined || !isObject(block)) {
    return block;
  }
  const exposed = expose(uri);
  return exposed === uri ? block : { ...block, uri: exposed };
}
