import Type, { type TObject, type TRecord, type TSchema, type TUnion } from 'typebox';
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import { nearest } from '../base/nearest.ts';
import type { Expansion } from './interpolate.ts';
import { judge, rulesOf, typed } from './judge.ts';
import { type Path, type Place, type Problem, pathText } from './problems.ts';
import { parseAmount } from './units.ts';
import type { Entry, YamlFile } from './yaml.ts';

/** A value that hangs on a variable or a file that is not there. */
export interface Unset extends Problem {
  readonly steps: Path;
}

interface Extra {
  readonly nearest?: string | undefined;
  readonly place?: Place;
}

type Entries = ReadonlyMap<string, Entry>;

/**
 * Reads the nodes of a file by a declaration in one walk: finds every mistake with its place, expands references, puts
 * in the defaults. A value that cannot be read is replaced by its default, so that what comes after sees a complete
 * configuration and can find more; the caller throws when there are problems.
 */
export class SettingsReader {
  readonly problems: Problem[] = [];
  readonly unset: Unset[] = [];
  /** What references brought in. */
  readonly secrets = new Set<string>();
  readonly #file: YamlFile;
  readonly #expand: (text: string) => Expansion;
  readonly #places = new Map<string, Place>();

  constructor(file: YamlFile, expand: (text: string) => Expansion) {
    this.#file = file;
    this.#expand = expand;
  }

  /** The value at `path`, of the static type of `schema`; undefined where an entry is to be left out. */
  read(schema: TSchema, given: Node, path: Path): unknown {
    const node = this.#file.follow(given);
    this.#places.set(pathText(path), this.#file.place(node ?? given));
    if (node === undefined) {
      return this.#refuse(schema, path, 'there is no such anchor before this place');
    }
    if (Type.IsUnion(schema)) {
      return this.#variant(schema, this.#entries(node, path), path);
    }
    if (Type.IsObject(schema)) {
      return this.#section(schema, this.#entries(node, path), path, Object.keys(schema.properties));
    }
    if (Type.IsRecord(schema)) {
      return this.#mapping(schema, this.#entries(node, path), path);
    }
    if (Type.IsArray(schema)) {
      return isSeq(node)
        ? (node.items as readonly Node[]).map((item, index) =>
            this.read(schema.items, item, [...path, index]),
          )
        : this.#refuse(schema, path, 'must be a list, such as [a, b]');
    }
    return this.#single(schema, node, path);
  }

  /** Reports a mistake at the place of `path` in the file, or of the nearest thing around it that is there. */
  report(path: Path, message: string, { nearest: meant, place = this.#placeOf(path) }: Extra = {}): void {
    const { line, column } = place;
    const hint = meant === undefined ? {} : { nearest: meant };
    this.problems.push({ path: pathText(path), line, column, message, ...hint });
  }

  #placeOf(path: Path): Place {
    const place = this.#places.get(pathText(path));
    return place ?? (path.length === 0 ? { line: 1, column: 1 } : this.#placeOf(path.slice(0, -1)));
  }

  #refuse(schema: TSchema, path: Path, message: string, meant?: string): unknown {
    this.report(path, message, { nearest: meant });
    return standIn(schema);
  }

  #entries(node: Node, path: Path): Entries {
    if (!isMap(node)) {
      // A key with nothing after it, as when all its entries are commented out, is an empty mapping.
      if (!isScalar(node) || node.value !== null) {
        this.report(path, 'must be a mapping (key: value)');
      }
      return new Map();
    }
    const { entries, faults } = this.#file.entriesOf(node);
    for (const { key, message, line, column } of faults) {
      this.report(key === undefined ? path : [...path, key], message, { place: { line, column } });
    }
    return entries;
  }

  /** A mapping of known keys. `names` are the keys that are not reported as unknown. */
  #section(schema: TObject, entries: Entries, path: Path, names: readonly string[]): unknown {
    for (const [key, entry] of entries) {
      if (!names.includes(key) && !isExtension(key)) {
        const place = this.#file.place(entry.key);
        this.report([...path, key], 'unknown key', { place, nearest: nearest(key, names) });
      }
    }
    const value: Record<string, unknown> = {};
    for (const [key, child] of Object.entries<TSchema>(schema.properties)) {
      const entry = entries.get(key);
      const found = entry === undefined ? standIn(child) : this.read(child, entry.value, [...path, key]);
      if (found !== undefined) {
        value[key] = found;
      }
    }
    return value;
  }

  /** A mapping of keys that the user chose. It has no prototype: `__proto__` and `constructor` are keys like any other. */
  #mapping(schema: TRecord, entries: Entries, path: Path): unknown {
    const keys = new RegExp(Type.RecordPattern(schema), 'u');
    const item: TSchema = Type.RecordValue(schema);
    const value: Record<string, unknown> = Object.create(null);
    for (const [key, entry] of entries) {
      // Extensions only where values are mappings: a header or a variable may well be called x-something.
      if (Type.IsUnion(item) && isExtension(key)) {
        continue;
      }
      const here = [...path, key];
      if (!keys.test(key)) {
        const message = rulesOf(schema).patternErrorMessage ?? 'this cannot be a name here';
        this.report(here, message, { place: this.#file.place(entry.key) });
      }
      const found = this.read(item, entry.value, here);
      if (found !== undefined) {
        value[key] = found;
      }
    }
    return value;
  }

  /** One of several kinds of section: the one whose mark, the key that it cannot do without, is there. */
  #variant(schema: TUnion, entries: Entries, path: Path): unknown {
    const kinds = schema.anyOf.filter((kind) => Type.IsObject(kind));
    const marked = kinds.filter((kind) => entries.has(markOf(kind)));
    const kind = marked[0] ?? kinds[0];
    if (kind === undefined) {
      return undefined;
    }
    const marks = kinds.map((each) => `"${markOf(each)}"`);
    if (marked.length === 0) {
      this.report(path, `needs ${marks.join(' or ')}`);
    } else if (marked.length > 1) {
      this.report(path, `${marks.join(' and ')} exclude each other`);
    } else {
      for (const [key, entry] of entries) {
        const home = kinds.find((each) => Object.hasOwn(each.properties, key));
        if (home !== undefined && !Object.hasOwn(kind.properties, key)) {
          const place = this.#file.place(entry.key);
          this.report([...path, key], `only for an entry with "${markOf(home)}"`, { place });
        }
      }
    }
    const names = kinds.flatMap((each) => Object.keys(each.properties));
    return this.#section(kind, entries, path, names);
  }

  #single(schema: TSchema, node: Node, path: Path): unknown {
    let value: unknown = isScalar(node) ? node.value : undefined;
    if (value === null && rulesOf(schema).type?.includes('null')) {
      return undefined;
    }
    if (typeof value === 'string') {
      // `$${` is how a literal `${` is written: a reference to the user is left for later.
      const given = rulesOf(schema).perUser
        ? value.replaceAll(/\$?\$\{principal\./g, '$$$${principal.')
        : value;
      const { text, expanded, secrets, unset, wrong } = this.#expand(given);
      for (const secret of secrets) {
        this.secrets.add(secret);
      }
      for (const message of wrong) {
        this.report(path, message);
      }
      for (const message of unset) {
        this.unset.push({ steps: path, path: pathText(path), ...this.#placeOf(path), message });
      }
      if (wrong.length > 0 || unset.length > 0) {
        return standIn(schema);
      }
      value = expanded ? typed(schema, text) : text;
    }
    const verdict = judge(schema, value);
    return 'value' in verdict ? verdict.value : this.#refuse(schema, path, verdict.wrong, verdict.nearest);
  }
}

/** Keys for other tools and for anchors; never read. */
const isExtension = (key: string): boolean => key.startsWith('x-');

/** The key that a kind of section cannot do without. */
function markOf(schema: TObject): string {
  const [mark = ''] =
    Object.entries<TSchema>(schema.properties).find(([, child]) => isMandatory(child)) ?? [];
  return mark;
}

function isMandatory(schema: TSchema): boolean {
  const rules = rulesOf(schema);
  return !Type.IsOptional(schema) && rules.default === undefined && rules.derived === undefined;
}

/** What holds where nothing is given: the default, or undefined where something else decides. */
function standIn(schema: TSchema): unknown {
  const rules = rulesOf(schema);
  if (Type.IsOptional(schema) || rules.derived !== undefined || Type.IsUnion(schema)) {
    return undefined;
  }
  if (Type.IsObject(schema)) {
    const values = Object.entries<TSchema>(schema.properties).map(
      ([key, child]) => [key, standIn(child)] as const,
    );
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }
  if (Type.IsRecord(schema)) {
    return Object.create(null);
  }
  return rules.unit === undefined ? (rules.default ?? '') : parseAmount(rules.unit, rules.default);
}
