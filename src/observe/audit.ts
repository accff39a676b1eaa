import { createHash, createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type JsonObject, objectAt, own, stringAt } from '../base/json.ts';
import { withoutSecrets } from '../base/secrets.ts';
import type { Settings } from '../config/settings.ts';

/** Who asked, and from where. */
export interface AuditedBy {
  /** Name of the principal, which no other has. */
  readonly key: string;
  readonly id: string;
  readonly issuer: string | undefined;
  readonly entrance: string;
  /** Of a legacy client. */
  readonly session: string | undefined;
  /** What the client calls itself: a label. */
  readonly client: { readonly name: string; readonly version?: unknown };
}

/** One page of a list; items with the names that clients know and what they stand for. */
export interface AuditedPage {
  readonly kind: string;
  readonly revision: string;
  readonly listed: readonly AuditedItem[];
  readonly from: number;
  readonly to: number;
}

interface AuditedItem {
  readonly entry: { readonly upstream: string; readonly original: string };
  readonly item: JsonObject;
}

export interface AuditedCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly upstream?: string | undefined;
  readonly original?: string | undefined;
  readonly outcome?: string | undefined;
  readonly code?: string | undefined;
  readonly rpcCode?: number | undefined;
  readonly flags?: readonly string[] | undefined;
  readonly tookMs: number;
  readonly queuedMs?: number | undefined;
  readonly upstreamMs?: number | undefined;
  readonly trace?: string | undefined;
}

export interface AuditOptions {
  readonly settings: () => Settings['audit'];
  /** 32 bytes: without it nobody can find out by trying what a digest is of. */
  readonly key: Buffer;
  /** Writes a line. */
  readonly write: (line: string) => void;
}

/** Which list each client was given last, for so many of them; the one that was not used for longest is forgotten. */
const CLIENTS_KNOWN = 10_000;
/** Lists that were told of in this file; more than that are told of once more. */
const LISTS_TOLD = 10_000;
/** Longest name of a client's making that is told, in characters. */
const LONGEST_NAME = 256;
/** Longest arguments that are told, in characters of JSON; of longer ones the digest is. */
const LONGEST_ARGUMENTS = 65_536;
const DIGEST_LENGTH = 22;
/** Of a list that is told of: a crash may cut a long line where a short one is written whole. */
const ITEMS_A_LINE = 50;

/** What a call with these methods came from: the list that its client was given. */
const KIND_OF: Readonly<Record<string, string>> = {
  'tools/call': 'tools',
  'prompts/get': 'prompts',
  'resources/read': 'resources',
};

/** Requests that say nothing about anything. */
export const UNTOLD: ReadonlySet<string> = new Set(['ping', 'server/discover', 'logging/setLevel']);

/** Puts what happened into lines of JSON. Every line names at most one principal. */
export class Audit {
  readonly #options: AuditOptions;
  readonly #given = new LRUCache<string, { readonly revision: string; readonly offer: string }>({
    max: CLIENTS_KNOWN,
  });
  readonly #told = new Set<string>();
  /** By what they list, which is one object for all who see the same. */
  readonly #offers = new WeakMap<readonly AuditedItem[], string>();
  readonly #items = new WeakMap<AuditedItem, { readonly bytes: number; readonly digest: string }>();

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** The lines go into another file, which has none of the lists that were told of. */
  begins(): void {
    this.#told.clear();
  }

  /** Somebody got a list. What is in it is told once for all who get the same. */
  listed(page: AuditedPage, by: AuditedBy, tookMs: number): void {
    if (!this.#options.settings().lists) {
      return;
    }
    const { kind, revision, listed, from, to } = page;
    const offer = this.#offerOf(page);
    this.#given.set(placeOf(by, kind), { revision, offer });
    const pages = from === 0 && to === listed.length ? {} : { from, to };
    const about = { kind, revision, offer, count: listed.length, ...pages };
    this.#tell('list', { ...personOf(by), ...about, ms: rounded(tookMs) });
  }

  /** Somebody asked for something else, and this became of it. */
  called(call: AuditedCall, by: AuditedBy): void {
    const { method, params, upstream, outcome = 'ok', code, rpcCode, flags, trace } = call;
    if (UNTOLD.has(method)) {
      return;
    }
    const kind = own(KIND_OF, method);
    const from = kind === undefined ? undefined : this.#given.get(placeOf(by, kind));
    this.#tell('call', {
      ...personOf(by),
      method,
      name: nameIn(method, params, this.#full),
      upstream,
      original: this.#originalOf(call),
      outcome,
      code,
      rpcCode,
      flags,
      ms: rounded(call.tookMs),
      queuedMs: call.queuedMs === undefined ? undefined : rounded(call.queuedMs),
      upstreamMs: call.upstreamMs === undefined ? undefined : rounded(call.upstreamMs),
      ...from,
      ...this.#argumentsOf(params),
      trace,
    });
  }

  get #full(): boolean {
    return this.#options.settings().arguments === 'full';
  }

  #tell(event: string, about: Readonly<Record<string, unknown>>): void {
    const line = JSON.stringify({ time: new Date().toISOString(), event, ...about });
    this.#options.write(withoutSecrets(line));
  }

  #originalOf({ method, original }: AuditedCall): string | undefined {
    return this.#full ? original : originalIn(method, original);
  }

  #offerOf({ kind, listed, revision }: AuditedPage): string {
    let offer = this.#offers.get(listed);
    if (offer === undefined) {
      const hash = createHash('sha256').update(kind);
      for (const each of listed) {
        hash.update(this.#itemOf(each).digest);
      }
      offer = hash.digest('base64url').slice(0, DIGEST_LENGTH);
      this.#offers.set(listed, offer);
    }
    if (!this.#told.has(offer)) {
      if (this.#told.size >= LISTS_TOLD) {
        this.#told.clear();
      }
      this.#told.add(offer);
      const items = listed.map((each) => {
        const { upstream, original } = each.entry;
        return { name: exposedName(each.item), upstream, original, bytes: this.#itemOf(each).bytes };
      });
      for (let at = 0; at < items.length || at === 0; at += ITEMS_A_LINE) {
        this.#tell('offer', { offer, kind, revision, items: items.slice(at, at + ITEMS_A_LINE) });
      }
    }
    return offer;
  }

  #itemOf(listed: AuditedItem) {
    let known = this.#items.get(listed);
    if (known === undefined) {
      const text = JSON.stringify([listed.entry.upstream, listed.entry.original, listed.item]);
      known = { bytes: Buffer.byteLength(text), digest: createHash('sha256').update(text).digest('base64') };
      this.#items.set(listed, known);
    }
    return known;
  }

  #argumentsOf(params: JsonObject | undefined): Readonly<Record<string, unknown>> {
    const { arguments: how } = this.#options.settings();
    const given = objectAt(params, 'arguments');
    if (given === undefined || how === 'none') {
      return {};
    }
    const text = JSON.stringify(given);
    if (how === 'full' && text.length <= LONGEST_ARGUMENTS) {
      return { arguments: given };
    }
    const digest = createHmac('sha256', this.#options.key).update(text).digest('base64url');
    return { argumentsDigest: digest.slice(0, DIGEST_LENGTH), argumentsBytes: Buffer.byteLength(text) };
  }
}

function personOf({ id, issuer, entrance, session, client }: AuditedBy): Readonly<Record<string, unknown>> {
  return {
    principal: id,
    issuer,
    entrance,
    session,
    client: labelOf(client),
  };
}

/** What a client calls itself, bounded. */
export function labelOf({ name, version }: AuditedBy['client']): string {
  return `${name}${typeof version === 'string' ? ` ${version}` : ''}`.slice(0, LONGEST_NAME);
}

/** Whose last list of a kind it was: that of a session, or of a modern client by the name that it gives itself. */
function placeOf({ key, entrance, session, client }: AuditedBy, kind: string): string {
  return JSON.stringify([key, entrance, kind, session ?? client.name.slice(0, LONGEST_NAME)]);
}

function isAboutUris(method: string): boolean {
  return method.startsWith('resources/');
}

/** What a request stood for at its upstream, fit to be told. */
export function originalIn(method: string, original: string | undefined): string | undefined {
  return original !== undefined && isAboutUris(method) ? withoutQuery(original) : original;
}

/** What a request is about, in the words of its client. `whole`: with all of a URI. */
export function nameIn(method: string, params: JsonObject | undefined, whole: boolean): string | undefined {
  const about = objectAt(params, 'ref') ?? params;
  const uri = stringAt(about, 'uri');
  if (uri !== undefined) {
    return (whole ? uri : withoutQuery(uri)).slice(0, LONGEST_NAME);
  }
  return method.startsWith('tasks/') ? undefined : stringAt(about, 'name')?.slice(0, LONGEST_NAME);
}

function exposedName(item: JsonObject): string | undefined {
  return stringAt(item, 'uri') ?? stringAt(item, 'uriTemplate') ?? stringAt(item, 'name');
}

/** What comes before the query; without whoever signs in with it. Both may hold what is nobody's business (case C-095). */
function withoutQuery(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
}

export function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
