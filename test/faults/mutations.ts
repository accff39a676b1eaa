import fc from 'fast-check';

/**
 * JSON as it is written, not as it is meant: members keep their order and may come twice, `__proto__` is a name like any
 * other, and a number may be one that no program holds.
 */
type Written =
  | { readonly kind: 'object'; entries: [string, Written][] }
  | { readonly kind: 'array'; items: Written[] }
  | { readonly kind: 'text'; readonly text: string };

type Edit = (root: Written) => Written;

/** Values that are wrong nearly everywhere. */
const ODD = [
  'null',
  'true',
  '0',
  '-0',
  '1e400',
  '-1e-400',
  '9007199254740993',
  '0.1',
  '9'.repeat(400),
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"__proto__"',
  '"\u2028\u{1f600}\u202e"',
  '[]',
  '{}',
  '[[]]',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"hasOwnProperty":1,"then":1,"length":-1}',
  `${'['.repeat(500)}${']'.repeat(500)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
] as const;
const NAMES = [
  'id',
  'jsonrpc',
  'method',
  'params',
  'result',
  'error',
  'code',
  '_meta',
  'name',
  'uri',
  'then',
];

const oddValue = fc.oneof(
  fc.constantFrom(...ODD),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary', maxLength: 40 }).map((value) => JSON.stringify(value)),
);
const oddName = fc.oneof(fc.constantFrom(...NAMES, '__proto__', ''), fc.string({ maxLength: 10 }));

/** One change of the tree at the node with this number, counted round and round. */
const edit: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.nat(200),
    fc.constantFrom('replace', 'remove', 'repeat', 'rename', 'wrap', 'wrapNamed', 'hoist', 'swallow'),
    oddValue,
    oddName,
  )
  .map(
    ([at, how, value, name]) =>
      (root) =>
        change(root, at, how, { kind: 'text', text: value }, name),
  );

/** Damage of the text itself. */
const damage = fc.oneof(
  { weight: 6, arbitrary: fc.constant((text: string) => text) },
  fc.nat(2_000).map((at) => (text: string) => text.slice(0, at % (text.length + 1))),
  fc.tuple(fc.nat(2_000), fc.string({ unit: 'binary', maxLength: 3 })).map(
    ([at, more]) =>
      (text: string) =>
        splice(text, at, 0, more),
  ),
  fc.tuple(fc.nat(2_000), fc.integer({ min: 1, max: 9 })).map(
    ([at, count]) =>
      (text: string) =>
        splice(text, at, count, ''),
  ),
);

/** Changes what is sent: one to four members, and now and then the text. */
export const mutation: fc.Arbitrary<(value: unknown) => string> = fc
  .tuple(fc.array(edit, { minLength: 1, maxLength: 4 }), damage)
  .map(
    ([edits, harm]) =>
      (value) =>
        harm(write(edits.reduce((tree, each) => each(tree), written(value)))),
  );

function splice(text: string, at: number, count: number, more: string): string {
  const from = at % (text.length + 1);
  return text.slice(0, from) + more + text.slice(from + count);
}

function written(value: unknown): Written {
  if (Array.isArray(value)) {
    return { kind: 'array', items: value.map(written) };
  }
  if (typeof value === 'object' && value !== null) {
    return { kind: 'object', entries: Object.entries(value).map(([name, each]) => [name, written(each)]) };
  }
  return { kind: 'text', text: JSON.stringify(value) };
}

function write(tree: Written): string {
  switch (tree.kind) {
    case 'text':
      return tree.text;
    case 'array':
      return `[${tree.items.map(write).join(',')}]`;
    case 'object':
      return `{${tree.entries.map(([name, each]) => `${JSON.stringify(name)}:${write(each)}`).join(',')}}`;
  }
}

interface Place {
  readonly parent: Written & { kind: 'object' | 'array' };
  readonly index: number;
}

function places(tree: Written): Place[] {
  if (tree.kind === 'text') {
    return [];
  }
  const children = tree.kind === 'array' ? tree.items : tree.entries.map(([, each]) => each);
  return children.flatMap((child, index) => [{ parent: tree, index }, ...places(child)]);
}

function change(root: Written, at: number, how: string, value: Written, name: string): Written {
  const all = places(root);
  const place = all[at % (all.length + 1)];
  if (place === undefined) {
    return how === 'wrap' ? { kind: 'array', items: [root, value] } : root;
  }
  const { parent, index } = place;
  if (parent.kind === 'array') {
    changeItem(parent.items, index, how, value, name);
  } else {
    changeEntry(parent.entries, index, how, value, name);
  }
  return root;
}

function changeItem(items: Written[], index: number, how: string, value: Written, name: string): void {
  const item = items[index] ?? value;
  switch (how) {
    case 'remove':
      items.splice(index, 1);
      break;
    case 'repeat':
      items.push(item, value);
      break;
    case 'wrap':
      items[index] = { kind: 'array', items: [item] };
      break;
    case 'rename':
    case 'wrapNamed':
      items[index] = { kind: 'object', entries: [[name, item]] };
      break;
    default:
      items[index] = value;
  }
}

function changeEntry(
  entries: [string, Written][],
  index: number,
  how: string,
  value: Written,
  name: string,
): void {
  const [key, member] = entries[index] ?? [name, value];
  switch (how) {
    case 'remove':
      entries.splice(index, 1);
      break;
    case 'repeat':
      // The last one counts in most programs, the first one in some.
      entries.splice(value.kind === 'text' && value.text.length % 2 === 0 ? index : index + 1, 0, [
        key,
        value,
      ]);
      break;
    case 'rename':
      entries[index] = [name, member];
      break;
    case 'wrap':
      entries[index] = [key, { kind: 'array', items: [member] }];
      break;
    case 'wrapNamed':
      entries[index] = [key, { kind: 'object', entries: [[name, member]] }];
      break;
    case 'hoist':
      if (member.kind === 'object') {
        entries.splice(index, 1, ...member.entries);
        break;
      }
      entries[index] = [key, value];
      break;
    case 'swallow':
      entries[index] = [key, { kind: 'object', entries: entries.splice(index + 1).concat([[key, member]]) }];
      break;
    default:
      entries[index] = [key, value];
  }
}

/** Damages a text in one to three places; cuts it short now and then. */
export const torn: fc.Arbitrary<(text: string) => string> = fc
  .array(damage, { minLength: 1, maxLength: 3 })
  .map((harms) => (text) => harms.reduce((now, harm) => harm(now), text));

/** Where to cut bytes into pieces; `piecesOf` takes each as a share of what there is. */
export const cuts = fc.array(fc.nat(9_999), { maxLength: 12 });

/** The bytes in pieces, none of them empty. */
export function piecesOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...new Set(at.map((share) => Math.floor((share * bytes.length) / 10_000)))].toSorted(
    (one, other) => one - other,
  );
  return [...ends, bytes.length]
    .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
    .filter(({ length }) => length > 0);
}
