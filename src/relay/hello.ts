import type { JsonObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import { announcesUpdates, declares, legacyTasks, merge } from '../protocol/capabilities.ts';
import { extensionsOf, isMethodOf } from '../protocol/extensions.ts';
import type { CacheHints, Era, Implementation } from '../protocol/model.ts';
import { VERSIONS } from '../protocol/versions.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Entrance } from './context.ts';

/** Longest instructions taken over from one server, and in all: they end up in a model's context. */
const LONGEST_EACH = 4_096;
const LONGEST_ALL = 16_384;

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

  /** The upstreams that a client sees at this entrance, in the order of the configuration. */
  visible(entrance: Entrance): readonly string[] {
    const { upstream } = entrance.selection;
    return upstream === undefined ? this.#fleet.ids : this.#fleet.ids.filter((id) => id === upstream);
  }

  /**
   * True when this capability may be asked for here: some server has it, or a client was told so while
   * nobody knew better. Then an empty list is the honest answer, and an error would look like a broken server (C-091).
   */
  promised(entrance: Entrance, capability: string): boolean {
    return this.#told.get(entrance.id)?.has(capability) === true || this.offers(entrance, capability);
  }

  /** What is told to a client that greets; kept in mind where it is more than will turn out to be true. */
  #tell(entrance: Entrance): JsonObject {
    const capabilities = this.capabilities(entrance);
    if (this.#pending(entrance)) {
      this.#told.set(entrance.id, new Set(Object.keys(capabilities)));
    }
    return capabilities;
  }

  capabilities(entrance: Entrance): JsonObject {
    return merge(this.#known(entrance), this.#pending(entrance));
  }

  #known(entrance: Entrance): readonly JsonObject[] {
    return this.visible(entrance).flatMap((id) => {
      const declared = this.#fleet.capabilities(id);
      return declared === undefined ? [] : [declared];
    });
  }

  /** True when some server here declares the capability, or may still turn out to. */
  offers(entrance: Entrance, capability: string): boolean {
    return Object.hasOwn(this.capabilities(entrance), capability);
  }

  /** The answer to `initialize` in a version already negotiated. */
  initialize(entrance: Entrance, version: string): JsonObject {
    return {
      protocolVersion: version,
      capabilities: { ...this.#tell(entrance), ...legacyTasks(this.#known(entrance)) },
      serverInfo: this.serverInfo,
      ...this.#instructions(entrance),
    };
  }

  /** The answer to `server/discover`, and for how long it may be kept. */
  discover(entrance: Entrance): { readonly result: JsonObject; readonly hints: CacheHints } {
    const result = {
      supportedVersions: VERSIONS,
      capabilities: this.#tell(entrance),
      ...this.#instructions(entrance),
    };
    const ttlMs = this.#pending(entrance) ? 0 : this.#settings.lists.maxTtl;
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
  withExtensionMethod(entrance: Entrance, method: string): readonly string[] {
    return this.visible(entrance).filter((upstream) => {
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
  #pending(entrance: Entrance): boolean {
    return this.visible(entrance).some((id) => this.#fleet.capabilities(id) === undefined);
  }

  #instructions(entrance: Entrance): { instructions?: string } {
    const own = this.#settings.instructions;
    const theirs = this.visible(entrance).flatMap((id) => {
      const text = this.#fleet.settings(id).instructions ? this.#fleet.instructions(id)?.trim() : undefined;
      return text ? [`## ${id}\n${cut(text, LONGEST_EACH)}`] : [];
    });
    const all = [...(own === undefined ? [] : [own]), ...theirs].join('\n\n');
    return all === '' ? {} : { instructions: cut(all, LONGEST_ALL) };
  }
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
