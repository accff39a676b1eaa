import { isObject, type JsonObject } from '../base/json.ts';
import type { Dialect } from './dialect.ts';
import { at, childrenOf } from './schemas.ts';

/** For schemas that have no `$id`: a base that no reference can name. */
const NOWHERE = 'schema:///';

/** Where `$ref` and its kin lead within one document. Nothing is ever fetched: what leads out of it leads nowhere. */
export class References {
  readonly #root: JsonObject;
  readonly #dialect: Dialect;
  /** The base URI of every schema, known once one is asked for. */
  #bases: Map<JsonObject, string> | undefined;
  /** Roots of the resources by URI, and anchors by URI with fragment. */
  readonly #named = new Map<string, JsonObject>();

  constructor(root: JsonObject, dialect: Dialect) {
    this.#root = root;
    this.#dialect = dialect;
  }

  /** Whether schemas with an `$id` of their own are embedded: what is dynamic then depends on how one got there. */
  get isCompound(): boolean {
    this.#index();
    return new Set(this.#bases?.values()).size > 1;
  }

  /** What a reference that stands in `from` leads to: a schema, or undefined. */
  resolve(reference: string, from: JsonObject): unknown {
    const uri = resolved(reference, this.#index().get(from) ?? NOWHERE);
    if (uri === undefined) {
      return undefined;
    }
    const hash = uri.indexOf('#');
    const [document, fragment] = hash === -1 ? [uri, ''] : [uri.slice(0, hash), uri.slice(hash + 1)];
    const root = this.#named.get(document);
    if (root === undefined || fragment === '') {
      return root;
    }
    return fragment.startsWith('/') ? at(root, decoded(fragment)) : this.#named.get(uri);
  }

  #index(): ReadonlyMap<JsonObject, string> {
    if (this.#bases !== undefined) {
      return this.#bases;
    }
    const bases = new Map<JsonObject, string>();
    this.#bases = bases;
    const open: { readonly value: unknown; readonly base: string }[] = [{ value: this.#root, base: NOWHERE }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { value } = next;
      if (isObject(value)) {
        const base = this.#baseOf(value, next.base);
        bases.set(value, base);
        open.push(...childrenOf(value, '').map((child) => ({ value: child.value, base })));
      }
    }
    // A document may be named by where it is and by its own `$id`.
    this.#name(NOWHERE, this.#root);
    return bases;
  }

  /** Notes what a schema is called, and returns the base of what is in it. */
  #baseOf(schema: JsonObject, around: string): string {
    const { $id, $anchor: anchor, $dynamicAnchor: dynamic } = schema;
    // In draft-07 nothing beside a `$ref` counts.
    const id = this.#dialect === 'draft-07' && schema['$ref'] !== undefined ? undefined : $id;
    let base = around;
    if (typeof id === 'string' && id !== '' && !id.startsWith('#')) {
      base = (resolved(id, around) ?? around).replace(/#$/, '');
      this.#name(base, schema);
    } else if (schema === this.#root) {
      this.#name(base, schema);
    }
    // Draft-07 gives anchors by `$id`.
    for (const name of [anchor, dynamic, typeof id === 'string' && id.startsWith('#') ? id.slice(1) : '']) {
      if (typeof name === 'string' && name !== '') {
        this.#name(`${base}#${name}`, schema);
      }
    }
    return base;
  }

  #name(uri: string, schema: JsonObject): void {
    if (!this.#named.has(uri)) {
      this.#named.set(uri, schema);
    }
  }
}

function resolved(reference: string, base: string): string | undefined {
  if (reference.startsWith('#')) {
    return base + reference;
  }
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
