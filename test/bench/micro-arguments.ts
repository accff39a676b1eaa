import { CompiledSchemas } from '../../src/vetting/compiled-schemas.ts';
import { credentialsIn } from '../../src/vetting/credentials-found.ts';

/**
 * What one check of arguments or of a result costs: `node test/bench/micro-arguments.ts`. Times are of one call, once the
 * schema is compiled; `first` is the first call, which compiles it.
 */

const text = (words: number) => 'lorem ipsum dolor sit amet consectetur '.repeat(Math.ceil(words / 6));

const SEARCH = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 500, description: 'What to look for.' },
    path: { type: 'string', pattern: '^[\\w./-]+$' },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    kinds: { type: 'array', items: { enum: ['file', 'folder', 'link'] }, uniqueItems: true },
    since: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
    options: {
      type: 'object',
      properties: { caseSensitive: { type: 'boolean' } },
      additionalProperties: false,
    },
  },
  required: ['query'],
  additionalProperties: false,
};
const FOUND = {
  query: 'where is the cursor sealed',
  path: 'src/front',
  limit: 10,
  kinds: ['file', 'folder'],
  since: '2026-01-31',
  options: { caseSensitive: true },
};
const ROWS = {
  type: 'object',
  properties: {
    rows: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          name: { type: 'string' },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['id', 'name'],
      },
    },
  },
};
const bomb = () => {
  const $defs: Record<string, unknown> = { d60: { type: 'number' } };
  for (let level = 0; level < 60; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { anyOf: [next, next] };
  }
  return { type: 'object', $ref: '#/$defs/d0', $defs };
};

const CASES: Readonly<Record<string, readonly [schema: Record<string, unknown>, value: unknown]>> = {
  'one text': [
    { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    { text: 'hello' },
  ],
  'typical call': [SEARCH, FOUND],
  'typical call, refused': [SEARCH, { ...FOUND, limit: '10', pth: 'x' }],
  '100 rows': [
    ROWS,
    { rows: Array.from({ length: 100 }, (_, id) => ({ id, name: `row ${id}`, tags: ['a', 'b'] })) },
  ],
  'pattern bomb (a+)+$': [
    { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
    { text: `${'a'.repeat(5_000)}!` },
  ],
  'anyOf bomb, 2^60': [bomb(), {}],
};

/** The quickest of ten batches: the machine may have other work. */
function timed(run: () => unknown): { readonly first: number; readonly each: number } {
  const began = performance.now();
  run();
  const first = performance.now() - began;
  const batch = (until: number) => {
    const from = performance.now();
    let rounds = 0;
    for (; performance.now() - from < until; rounds += 10) {
      for (let round = 0; round < 10; round += 1) {
        run();
      }
    }
    return (performance.now() - from) / rounds;
  };
  batch(200);
  return { first, each: Math.min(...Array.from({ length: 10 }, () => batch(30))) };
}

const row = (name: string, { first, each }: ReturnType<typeof timed>) =>
  `${name.padEnd(32)}${(each * 1000).toFixed(1).padStart(10)} µs${(first * 1000).toFixed(0).padStart(10)} µs\n`;

process.stdout.write(`${''.padEnd(32)}${'each'.padStart(13)}${'first'.padStart(13)}\n`);
for (const [name, [schema, value]] of Object.entries(CASES)) {
  const schemas = new CompiledSchemas();
  process.stdout.write(
    row(
      name,
      timed(() => schemas.judge(schema, value)),
    ),
  );
}
for (const [name, length] of [
  ['credentials, 1 KB of text', 1_000],
  ['credentials, 1 MB of text', 1_000_000],
] as const) {
  const prose = Buffer.from(text(length / 6).slice(0, length));
  process.stdout.write(
    row(
      name,
      timed(() => credentialsIn(prose)),
    ),
  );
}
const base64 = Buffer.from(Buffer.alloc(750_000, 'binary blob').toString('base64'));
process.stdout.write(
  row(
    'credentials, 1 MB of base64',
    timed(() => credentialsIn(base64)),
  ),
);
