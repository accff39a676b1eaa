import type { Principal } from '../access/principal.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { exposeLinks } from '../catalog/links.ts';
import type { ResourceRoute } from '../catalog/snapshot.ts';

/** Most URIs remembered for one principal, and most principals: older ones go first. */
const MOST_URIS = 2_000;
const MOST_PRINCIPALS = 2_000;

/**
 * URIs that results gave to a principal: a resource may be absent from every list and still be linked
 * (spec 2026-07-28: server/tools, Resource Links). Keyed by the URI as the client saw it.
 */
export class SeenUris {
  readonly #seen = new Map<string, Map<string, ResourceRoute>>();

  find(principal: Principal, uri: string): ResourceRoute | undefined {
    return this.#seen.get(principal.key)?.get(uri);
  }

  note(principal: Principal, uri: string, route: ResourceRoute): void {
    let mine = this.#seen.get(principal.key);
    if (mine === undefined) {
      mine = new Map();
      this.#seen.set(principal.key, mine);
      dropOldest(this.#seen, MOST_PRINCIPALS);
    }
    mine.delete(uri);
    mine.set(uri, route);
    dropOldest(mine, MOST_URIS);
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) {
    const oldest = map.keys().next();
    if (!oldest.done) {
      map.delete(oldest.value);
    }
  }
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
  let changed = false;
  const mapped = members.map((member: unknown) => {
    const next = map(member);
    changed ||= next !== member;
    return next;
  });
  return changed ? { ...value, [key]: mapped } : value;
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
