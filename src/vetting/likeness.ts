import type { Item } from '../protocol/model.ts';
import { finding, type Offered, several, type VettingFinding } from './finding.ts';
import { sentencesOf } from './phrases.ts';

/** What one description is found again by. */
type Bands = readonly number[];

class Described {
  readonly upstream: string;
  readonly name: string;
  readonly description: string;
  #shingles: ReadonlySet<number> | undefined;

  constructor(upstream: string, name: string, description: string) {
    this.upstream = upstream;
    this.name = name;
    this.description = description;
  }

  /** Few are compared, so few are cut into runs of words again. */
  get shingles(): ReadonlySet<number> {
    this.#shingles ??= shinglesOf(this.description);
    return this.#shingles;
  }
}

/** What descriptions are found again by, from one run to the next: most tools say the same then. */
export type KnownBands = WeakMap<Item, Bands>;

/** Share of three-word runs that two descriptions have in common, from which on they are nearly equal. */
const NEARLY = 0.8;
/** Bands of so many rows each: two texts with 80 % in common share a band in 98 of 100 cases, with 90 % always. */
const BANDS = 8;
const ROWS = 4;
/** Of tools that share a band, each is compared with so many: what bounds the work when all say the same. */
const MOST_COMPARED = 8;
/** Shorter descriptions say too little for being alike to mean anything. */
const FEWEST_WORDS = 4;
/** From so many alike tools of two servers on there is one finding for both: the one server is there twice. */
const MANY = 4;

/**
 * Tools of different servers that describe themselves alike: a collision that namespaces do not solve. Candidates share a
 * band of minimum hashes, so the time grows with the number of tools and not with its square. In pieces of one tool.
 */
export function* likening(
  offers: readonly Offered[],
  known: KnownBands,
): Generator<undefined, readonly VettingFinding[]> {
  const pairs = yield* alikeIn(offers, known);
  const byServers = new Map<string, (readonly [Described, Described])[]>();
  for (const pair of pairs) {
    const servers = JSON.stringify(pair.map(({ upstream }) => upstream));
    const known = byServers.get(servers) ?? [];
    known.push(pair);
    byServers.set(servers, known);
  }
  return [...byServers.values()].flatMap((alike) =>
    alike.length < MANY ? alike.map(onePair) : [manyPairs(alike)],
  );
}

/** Each tool with the first one before it, of another server, that is described alike. */
function* alikeIn(
  offers: readonly Offered[],
  known: KnownBands,
): Generator<undefined, readonly (readonly [Described, Described])[]> {
  const buckets = new Map<number, Described[]>();
  const pairs: (readonly [Described, Described])[] = [];
  for (const { upstream, lists } of offers) {
    for (const item of lists.tools ?? []) {
      yield;
      const bands = known.get(item) ?? bandsOf(item['description']);
      known.set(item, bands);
      if (bands.length > 0) {
        const tool = new Described(upstream, String(item['name']), String(item['description']));
        const match = matchOf(tool, bands, buckets);
        pairs.push(...(match === undefined ? [] : [[match, tool] as const]));
      }
    }
  }
  return pairs;
}

/** The first of another server in one of its buckets; it is put into them. */
function matchOf(tool: Described, bands: Bands, buckets: Map<number, Described[]>): Described | undefined {
  let match: Described | undefined;
  for (const band of bands) {
    const bucket = buckets.get(band) ?? [];
    match ??= bucket.find((other) => other.upstream !== tool.upstream && isAlike(tool, other));
    // One of each server is enough to find the next one by, and a crowd of one server must not keep others out.
    if (bucket.length < MOST_COMPARED && !bucket.some((other) => other.upstream === tool.upstream)) {
      bucket.push(tool);
    }
    buckets.set(band, bucket);
  }
  return match;
}

function isAlike(one: Described, other: Described): boolean {
  const [small, large] =
    one.shingles.size < other.shingles.size ? [one.shingles, other.shingles] : [other.shingles, one.shingles];
  let common = 0;
  for (const shingle of small) {
    common += large.has(shingle) ? 1 : 0;
  }
  return common / (small.size + large.size - common) >= NEARLY;
}

function onePair([earlier, later]: readonly [Described, Described]): VettingFinding {
  const about = { upstream: later.upstream, kind: 'tools', item: later.name, place: '/description' } as const;
  return finding('description.alike', about, `It is described as ${earlier.name} of ${earlier.upstream} is.`);
}

function manyPairs(alike: readonly (readonly [Described, Described])[]): VettingFinding {
  const [earlier, later] = alike[0] ?? [];
  const names = several(alike.map(([, { name }]) => name));
  const about = { upstream: later?.upstream ?? '', kind: 'tools', item: '', place: '/description' } as const;
  return finding(
    'description.alike',
    about,
    `${alike.length} tools are described as tools of ${earlier?.upstream} are: ${names}.`,
  );
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** Hashes of the runs of three words; none where the text says too little. */
function shinglesOf(description: string): ReadonlySet<number> {
  const words = sentencesOf(description).filter((word) => word !== '.');
  return new Set(
    words.length < FEWEST_WORDS
      ? []
      : words.slice(2).map((word, at) => hashOf(`${words[at]} ${words[at + 1]} ${word}`)),
  );
}

/** None where there is no text that says enough. */
function bandsOf(description: unknown): Bands {
  const shingles = typeof description === 'string' ? shinglesOf(description) : NO_SHINGLES;
  if (shingles.size === 0) {
    return NO_BANDS;
  }
  const minima = new Uint32Array(BANDS * ROWS).fill(0xffffffff);
  for (const shingle of shingles) {
    for (let row = 0; row < minima.length; row += 1) {
      // Each row is another order of all hashes: multiplied by an odd number and mixed.
      const mixed = Math.imul(shingle ^ (row * 0x9e3779b9), 0x85ebca6b + row * 2);
      const rank = (mixed ^ (mixed >>> 15)) >>> 0;
      minima[row] = Math.min(minima[row] ?? 0, rank);
    }
  }
  // Two bands with one number are only compared in vain.
  return Array.from({ length: BANDS }, (_, band) =>
    hashOf(`${band} ${minima.slice(band * ROWS, (band + 1) * ROWS).join(' ')}`),
  );
}

const NO_SHINGLES: ReadonlySet<number> = new Set();
const NO_BANDS: Bands = [];
