import type { Access } from '../access/policy.ts';
import type { JsonObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import { announcesUpdates, declares, forLegacy, merge } from '../protocol/capabilities.ts';
import { extensionsOf, isMethodOf } from '../protocol/extensions.ts';
import type { CacheHints, Era, Implementation } from '../protocol/model.ts';
import { VERSIONS } from '../protocol/versions.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { type Entrance, seesUpstream } from './context.ts';

/** Longest instructions taken over from one server, and in all: they end up in a model's context. */
const LONGEST_EACH = 4_096;
const LONGEST_ALL = 16_384;
/** Most sets of rights for which it is kept in mind what was told too early. */
const MOST_TOLD = 1_000;

/** What the gateway says of itself. Answered at once from what is known, never waiting for an upstream. */
export class Hello {
  readonly #fleet: Fleet;
  readonly #settings: Settings;
  readonly #told = new Map<string, ReadonlySet<string>>();
  readonly serverInfo: Implementation;

  constructor(about: { fleet: Fleet; settings: Settings; serverInfo: Implementation }) {
    this.#fleet = about.fleet;
    this.#settings = about.settings;
    this.serverInfo = about.serverInfo;
  }

  /** The upstreams of which a client with these rights sees anything here, in the order of the configuration. */
  visible(entrance: Entrance, access: Access): readonly string[] {
    return this.#fleet.ids.filter((id) => seesUpstream(id, { entrance, access }));
  }

  /**
   * True when this capability may be asked for here: some server has it, or a client was told so while
   * nobody knew better. Then an empty list is the honest answer, and an error would look like a broken server (C-091).
   */
  promised(entrance: Entrance, access: Access, capability: string): boolean {
    const told = this.#told.get(toldKey(entrance, access));
    return told?.has(capability) === true || this.offers(entrance, access, capability);
  }

  /** What is told to a client that greets; kept in mind where it is more than will turn out to be true. */
  #tell(entrance: Entrance, access: Access): JsonObject {
    const capabilities = this.capabilities(entrance, access);
    if (this.#pending(entrance, access)) {
      this.#told.set(toldKey(entrance, access), new Set(Object.keys(capabilities)));
      const [oldest] = this.#told.keys();
      if (this.#told.size > MOST_TOLD && oldest !== undefined) {
        this.#told.delete(oldest);
      }
    }
    return capabilities;
  }

  capabilities(entrance: Entrance, access: Access): JsonObject {
    return merge(this.#known(entrance, access), this.#pending(entrance, access));
  }

  #known(entrance: Entrance, access: Access): readonly JsonObject[] {
    return this.visible(entrance, access).flatMap((id) => {
      const declared = this.#fleet.capabilities(id);
      return declared === undefined ? [] : [declared];
    });
  }

  /** True when some server here declares the capability, or may still turn out to. */
  offers(entrance: Entrance, access: Access, capability: string): boolean {
    return Object.hasOwn(this.capabilities(entrance, access), capability);
  }

  /** The answer to `initialize` in a version already negotiated. */
  initialize(entrance: Entrance, access: Access, version: string): JsonObject {
    return {
      protocolVersion: version,
      capabilities: forLegacy(this.#tell(entrance, access), this.#known(entrance, access)),
      serverInfo: this.serverInfo,
      ...this.#instructions(entrance, access),
    };
  }

  /** The answer to `server/discover`, and for how long it may be kept. */
  discover(entrance: Entrance, access: Access): { readonly result: JsonObject; readonly hints: CacheHints } {
    const result = {
      supportedVersions: VERSIONS,
      capabilities: this.#tell(entrance, access),
      ...this.#instructions(entrance, access),
    };
    const ttlMs = this.#pending(entrance, access) ? 0 : this.#settings.lists.maxTtl;
    return { result, hints: { ttlMs, scope: 'private' } };
  }

  /** How long an answer may still wait for first catalogs, in ms: a server that hangs holds nobody up for long. */
  patience(): number {
    return Math.max(0, this.#settings.lists.firstWait - this.#fleet.age);
  }

  /** The era in which the upstream is spoken to, while it can be. */
  eraOf(upstream: string): Era | undefined {
    return this.#fleet.terms(upstream)?.era;
  }

  /** True while the upstream can be asked. */
  reachable(upstream: string): boolean {
    return this.#fleet.terms(upstream) !== undefined;
  }

  /** True when this upstream declares the capability. */
  upstreamDeclares(upstream: string, capability: string): boolean {
    return declares(this.#fleet.capabilities(upstream) ?? {}, capability);
  }

  /** The upstreams that declare an extension with this method, and can be spoken to in the era that has extensions. */
  withExtensionMethod(entrance: Entrance, access: Access, method: string): readonly string[] {
    return this.visible(entrance, access).filter((upstream) => {
      const terms = this.#fleet.terms(upstream);
      const declared = Object.keys(extensionsOf(terms?.capabilities));
      return terms?.era === 'modern' && declared.some((id) => isMethodOf(id, method));
    });
  }

  /** True when this upstream tells of changes of single resources. */
  announcesUpdates(upstream: string): boolean {
    return announcesUpdates(this.#fleet.capabilities(upstream) ?? {});
  }

  /** Some server here was never reached: nobody knows what it offers (case C-086). */
  #pending(entrance: Entrance, access: Access): boolean {
    return this.visible(entrance, access).some((id) => this.#fleet.capabilities(id) === undefined);
  }

  #instructions(entrance: Entrance, access: Access): { instructions?: string } {
    const { own, upstreams } = entrance.instructions;
    const telling = upstreams ? this.visible(entrance, access) : [];
    const theirs = telling.flatMap((id) => {
      const text = this.#fleet.settings(id).instructions ? this.#fleet.instructions(id)?.trim() : undefined;
      return text ? [`## ${id}\n${cut(text, LONGEST_EACH)}`] : [];
    });
    const all = [...(own === undefined ? [] : [own]), ...theirs].join('\n\n');
    return all === '' ? {} : { instructions: cut(all, LONGEST_ALL) };
  }
}

/** Who sees other upstreams was told other capabilities. */
function toldKey(entrance: Entrance, access: Access): string {
  return JSON.stringify([entrance.id, access.key]);
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
