import type { Access } from '../access/policy.ts';
import type { Principal } from '../access/principal.ts';
import type { JsonObject } from '../base/json.ts';
import type { Settings } from '../config/settings.ts';
import { announcesUpdates, declares, forLegacy, merge } from '../protocol/capabilities.ts';
import { APPS, extensionsOf, hasExtension, isMethodOf, TASKS } from '../protocol/extensions.ts';
import type { CacheHints, Era, Implementation } from '../protocol/model.ts';
import { VERSIONS } from '../protocol/versions.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { type Entrance, type RequestContext, seesUpstream } from './context.ts';
import { isSearched } from './find-tools.ts';

/** Longest instructions taken over from one server, and in all: they end up in a model's context. */
const LONGEST_EACH = 4_096;
const LONGEST_ALL = 16_384;
/** Most sets of rights for which it is kept in mind what was told too early. */
const MOST_TOLD = 1_000;

/** Whoever is told: servers that know their users tell each of them for themselves. */
export type Visitor = Pick<RequestContext, 'entrance' | 'access' | 'principal'>;

export interface HelloOptions {
  readonly fleet: Fleet;
  readonly settings: () => Settings;
  readonly serverInfo: Implementation;
  /** Which instructions of an upstream are passed on. */
  readonly screen: { instructions(upstream: string, told: string): string | undefined };
}

/** What the gateway says of itself. Answered at once from what is known, never waiting for an upstream. */
export class Hello {
  readonly #fleet: Fleet;
  readonly #settings: () => Settings;
  readonly #told = new Map<string, ReadonlySet<string>>();
  readonly #screen: HelloOptions['screen'];
  readonly serverInfo: Implementation;

  constructor(about: HelloOptions) {
    this.#fleet = about.fleet;
    this.#screen = about.screen;
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
  promised(visitor: Visitor, capability: string): boolean {
    const told = this.#told.get(toldKey(visitor));
    return told?.has(capability) === true || this.offers(visitor, capability);
  }

  /** What is told to a client that greets; kept in mind where it is more than will turn out to be true. */
  #tell(visitor: Visitor): JsonObject {
    const capabilities = this.capabilities(visitor);
    if (this.#pending(visitor)) {
      this.#told.set(toldKey(visitor), new Set(Object.keys(capabilities)));
      const [oldest] = this.#told.keys();
      if (this.#told.size > MOST_TOLD && oldest !== undefined) {
        this.#told.delete(oldest);
      }
    }
    return capabilities;
  }

  capabilities(visitor: Visitor): JsonObject {
    const known = this.#known(visitor);
    return merge(isSearched(visitor.entrance) ? [...known, { tools: {} }] : known, this.#pending(visitor));
  }

  #known({ entrance, access, principal }: Visitor): readonly JsonObject[] {
    return this.visible(entrance, access).map((id) => {
      const declared = this.#fleet.toldTo(id, principal)?.capabilities;
      return declared ?? wellKnown(this.#fleet.capabilities(id) ?? {});
    });
  }

  /** True when some server here declares the capability, or may still turn out to. */
  offers(visitor: Visitor, capability: string): boolean {
    return Object.hasOwn(this.capabilities(visitor), capability);
  }

  /** The answer to `initialize` in a version already negotiated. */
  initialize(visitor: Visitor, version: string): JsonObject {
    return {
      protocolVersion: version,
      capabilities: forLegacy(this.#tell(visitor), this.#known(visitor)),
      serverInfo: this.serverInfo,
      ...this.#instructions(visitor),
    };
  }

  /** The answer to `server/discover`, and for how long it may be kept. */
  discover(visitor: Visitor): { readonly result: JsonObject; readonly hints: CacheHints } {
    const result = {
      supportedVersions: VERSIONS,
      capabilities: this.#tell(visitor),
      ...this.#instructions(visitor),
    };
    const ttlMs = this.#pending(visitor) ? 0 : this.#settings().lists.maxTtl;
    return { result, hints: { ttlMs, scope: 'private' } };
  }

  /**
   * How long an answer may still wait for first catalogs of these upstreams, in ms: a server that hangs holds nobody up
   * for long. Those that wait for somebody to need them are started.
   */
  patience(upstreams: readonly string[]): number {
    this.wake(upstreams);
    return Math.max(0, this.#settings().lists.firstWait - this.#fleet.youngest(upstreams));
  }

  /** Starts those of them that wait for somebody to need them. */
  wake(upstreams: readonly string[]): void {
    this.#fleet.wake(upstreams);
  }

  /** The era in which the upstream is spoken to, while it can be. */
  eraOf(upstream: string): Era | undefined {
    return this.#fleet.terms(upstream)?.era;
  }

  /** True while the upstream can be asked. */
  reachable(upstream: string): boolean {
    return this.#fleet.terms(upstream) !== undefined;
  }

  /** True when this upstream declares the capability to this user, or, while that is not known, to anybody. */
  upstreamDeclares(upstream: string, capability: string, { principal }: Visitor): boolean {
    return declares(this.#declared(upstream, principal), capability);
  }

  /** The upstreams that declare an extension with this method, and can be spoken to in the era that has extensions. */
  withExtensionMethod(visitor: Visitor, method: string): readonly string[] {
    const { entrance, access, principal } = visitor;
    return this.visible(entrance, access).filter((upstream) => {
      const terms = this.reachable(upstream) ? this.#fleet.toldTo(upstream, principal) : undefined;
      const declared = Object.keys(extensionsOf(terms?.capabilities));
      return terms?.era === 'modern' && declared.some((id) => isMethodOf(id, method));
    });
  }

  /** True when this upstream tells this user of changes of single resources. */
  announcesUpdates(upstream: string, { principal }: Visitor): boolean {
    return announcesUpdates(this.#declared(upstream, principal));
  }

  #declared(upstream: string, principal: Principal): JsonObject {
    const terms = this.#fleet.toldTo(upstream, principal);
    return terms?.capabilities ?? this.#fleet.capabilities(upstream) ?? {};
  }

  /** Some server here was never reached for this user: nobody knows what it offers (case C-086). */
  #pending({ entrance, access, principal }: Visitor): boolean {
    return this.visible(entrance, access).some((id) => this.#fleet.toldTo(id, principal) === undefined);
  }

  #instructions({ entrance, access, principal }: Visitor): { instructions?: string } {
    const { own, upstreams } = entrance.instructions;
    const telling = upstreams ? this.visible(entrance, access) : [];
    const theirs = telling.flatMap((id) => {
      const given = this.#fleet.settings(id).instructions ? this.#fleet.toldTo(id, principal) : undefined;
      const told = given?.instructions;
      const text = told === undefined ? undefined : this.#screen.instructions(id, told)?.trim();
      return text ? [`## ${id}\n${cut(text, LONGEST_EACH)}`] : [];
    });
    const all = [...(own === undefined ? [] : [own]), ...theirs].join('\n\n');
    return all === '' ? {} : { instructions: cut(all, LONGEST_ALL) };
  }
}

/** Who sees other upstreams was told other capabilities. */
function toldKey({ entrance, access }: Visitor): string {
  return JSON.stringify([entrance.id, access.key]);
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/**
 * What may be said to anybody of a server that tells each user for themselves: which extensions of the specification's
 * own it has, and whether it has tasks. Values and further names may be meant for the user who was told them.
 */
function wellKnown(declared: JsonObject): JsonObject {
  const extensions = [TASKS, APPS].filter((id) => hasExtension(declared, id)).map((id) => [id, {}]);
  return { ...forLegacy({}, [declared]), extensions: Object.fromEntries(extensions) };
}
