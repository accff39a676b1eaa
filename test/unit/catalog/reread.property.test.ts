import fc from 'fast-check';
import { expect, it } from 'vitest';
import { changesSeen } from '../../../src/catalog/changes-seen.ts';
import type { ListPart, UpstreamPart } from '../../../src/catalog/part.ts';
import { buildCatalog, type Catalog, changesBetween } from '../../../src/catalog/snapshot.ts';
import { type ViewSelection, viewOf } from '../../../src/catalog/view.ts';
import { KINDS, type Kind } from '../../../src/protocol/model.ts';
import { readList } from '../../../src/relay/read-list.ts';
import { canonical } from '../../../src/vetting/definition.ts';
import { approved, type Lock, type LockState } from '../../../src/vetting/lock.ts';
import { asSaid } from '../../../src/vetting/offered.ts';
import { Quarantine } from '../../../src/vetting/quarantine.ts';

/**
 * A list that is read again takes over what says the same: items, their judgement, entries, what is listed. Whatever
 * changes between two reads, that is the catalog which is made of lists that nobody has read before.
 */

const UPSTREAMS = ['a', 'a_b', 'c'] as const;
/** Some collide once they are behind a namespace or cleaned. */
const NAMES: Readonly<Record<Kind, readonly string[]>> = {
  tools: ['x', 'b_x', 'b.x', 'x!', 'y'.repeat(60)],
  prompts: ['x', 'b_x'],
  resources: ['note://1', 'ui://page', 'file:///r'],
  templates: ['note://{n}', 'note://{m}', 'db://{t}'],
};
const NAMING = { separator: '.', maxLength: 40 };
const FLAVOURS = [
  'plain',
  'titled',
  'reversed',
  'malformed',
  'linked',
  'marked',
  'badly marked',
  'remote',
  'nameless',
] as const;

interface Wanted {
  readonly at: number;
  readonly version: number;
  readonly flavour: (typeof FLAVOURS)[number];
}

type Shape = { readonly renames: boolean; readonly describes: boolean; readonly denies: boolean };

type Step =
  | {
      readonly does: 'list';
      readonly server: number;
      readonly kind: Kind;
      readonly wanted: readonly Wanted[];
    }
  | { readonly does: 'shape'; readonly server: number; readonly shape: Shape }
  | { readonly does: 'approve'; readonly server: number; readonly at: number }
  | { readonly does: 'nothing' };

const wanted: fc.Arbitrary<readonly Wanted[]> = fc.array(
  fc.record({
    at: fc.nat(4),
    version: fc.nat(1),
    flavour: fc.oneof({ weight: 3, arbitrary: fc.constant('plain' as const) }, fc.constantFrom(...FLAVOURS)),
  }),
  { maxLength: 6 },
);
const server = fc.nat(UPSTREAMS.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('list' as const),
      server,
      kind: fc.oneof({ weight: 3, arbitrary: fc.constant('tools' as const) }, fc.constantFrom(...KINDS)),
      wanted,
    }),
  },
  fc.record({
    does: fc.constant('shape' as const),
    server,
    shape: fc.record({ renames: fc.boolean(), describes: fc.boolean(), denies: fc.boolean() }),
  }),
  fc.record({ does: fc.constant('approve' as const), server, at: fc.nat(4) }),
  fc.constant({ does: 'nothing' as const }),
);

/** As a server writes it: made anew each time. */
function raw(kind: Kind, { at, version, flavour }: Wanted): unknown {
  const name = NAMES[kind][at % NAMES[kind].length] ?? '';
  const key = { tools: 'name', prompts: 'name', resources: 'uri', templates: 'uriTemplate' }[kind];
  const schema = (more: object) => ({
    type: 'object',
    properties: { word: { type: 'string', description: `version ${version}`, ...more } },
  });
  const item = {
    [key]: name,
    ...(kind === 'resources' || kind === 'templates' ? { name } : {}),
    description: version === 0 ? 'Looks it up.' : 'Looks it up, with care.',
    ...(kind === 'tools' ? { inputSchema: schema({}) } : {}),
  };
  switch (flavour) {
    case 'plain':
      return item;
    case 'titled':
      return { ...item, title: 'Titled' };
    case 'reversed':
      return Object.fromEntries(Object.entries(item).toReversed());
    case 'malformed':
      return { ...item, description: 7 };
    case 'linked':
      return { ...item, _meta: { ui: { resourceUri: 'ui://page' } } };
    case 'marked':
      return { ...item, inputSchema: schema({ 'x-mcp-header': 'Word' }) };
    case 'badly marked':
      return { ...item, inputSchema: schema({ 'x-mcp-header': 'No word' }) };
    case 'remote':
      return { ...item, inputSchema: schema({ $ref: 'https://example.org/schema' }) };
    case 'nameless':
      return { ...item, [key]: undefined };
  }
}

const OPEN: Shape = { renames: false, describes: false, denies: false };

class World {
  readonly #wanted = UPSTREAMS.map((): Partial<Record<Kind, readonly Wanted[]>> => ({}));
  readonly #shapes: Shape[] = UPSTREAMS.map(() => OPEN);
  lock: LockState = { lock: new Map() };

  take(taken: Step, catalog: Catalog): void {
    switch (taken.does) {
      case 'list':
        (this.#wanted[taken.server] ?? {})[taken.kind] = taken.wanted;
        return;
      case 'shape':
        this.#shapes[taken.server] = taken.shape;
        return;
      case 'approve': {
        const part = catalog.parts.get(UPSTREAMS[taken.server] ?? '');
        const lock: Lock = this.lock !== undefined && 'lock' in this.lock ? this.lock.lock : new Map();
        const name = NAMES.tools[taken.at];
        this.lock = {
          lock: part === undefined ? lock : approved(lock, [asSaid(part)], (item) => item.name !== name),
        };
        return;
      }
      case 'nothing':
        return;
    }
  }

  /** In two pages, as JSON brings it. */
  read(server: number, kind: Kind, before: ListPart | undefined): Promise<ListPart | undefined> {
    const { renames, describes, denies } = this.#shapes[server] ?? OPEN;
    const items = (this.#wanted[server]?.[kind] ?? []).map((each) => raw(kind, each));
    const settings = {
      timeouts: { call: 1_000 },
      kind: 'http',
      tools: {
        allow: ['*'],
        deny: denies ? ['b*'] : [],
        rename: renames ? { x: 'b_x' } : {},
        describe: describes ? { x: 'Ours.', 'b.x': 'Ours.' } : {},
        annotate: describes ? { x: { readOnly: true } } : {},
      },
    };
    const member = {
      tools: 'tools',
      prompts: 'prompts',
      resources: 'resources',
      templates: 'resourceTemplates',
    };
    const fleet = {
      settings: () => settings,
      reach: () => ({ own: false }),
      termsFor: () =>
        Promise.resolve({
          era: server === 0 ? 'legacy' : 'modern',
          capabilities: { tools: {}, prompts: {}, resources: {} },
        }),
      request: (_id: string, _method: string, { cursor }: { readonly cursor?: string }) =>
        Promise.resolve(
          JSON.parse(
            JSON.stringify(
              cursor === undefined
                ? { [member[kind]]: items.slice(0, 3), nextCursor: 'more' }
                : { [member[kind]]: items.slice(3) },
            ),
          ),
        ),
    } as unknown as Parameters<typeof readList>[0];
    const { signal } = new AbortController();
    const upstream = UPSTREAMS[server] ?? '';
    const envelope = { clientInfo: { name: 'test', version: '1' }, clientCapabilities: {} };
    return readList(fleet, envelope, { upstream, kind, signal, party: undefined, before });
  }

  async parts(known: Catalog | undefined): Promise<readonly UpstreamPart[]> {
    return Promise.all(
      UPSTREAMS.map(async (upstream, at) => {
        const lists: Partial<Record<Kind, ListPart>> = {};
        for (const kind of KINDS) {
          const list = await this.read(at, kind, known?.parts.get(upstream)?.lists[kind]);
          if (list !== undefined) {
            lists[kind] = list;
          }
        }
        return { upstream, namespace: upstream === 'c' ? '' : upstream, lists, stale: false };
      }),
    );
  }

  screen(): Quarantine {
    return new Quarantine({
      lock: () => this.lock,
      onChange: (upstream) => (upstream === 'c' ? 'quarantine' : 'allow'),
      isOwn: () => false,
    });
  }
}

const SELECTIONS: readonly ViewSelection[] = [
  { style: 'dotted' },
  { style: 'strict' },
  ...UPSTREAMS.map((upstream) => ({ style: 'bare', upstream }) as const),
];

/** Everything that can be seen of a catalog, in its order. */
function said(catalog: Catalog): readonly string[] {
  const { parts, entries, withheld, findings, renamedUris } = catalog;
  return [
    ...KINDS.flatMap((kind) => entries[kind].map((entry) => JSON.stringify(entry))),
    ...withheld.entries.map((entry) => JSON.stringify(['withheld', entry])),
    ...findings.map((finding) => JSON.stringify(finding)),
    JSON.stringify([...renamedUris]),
    ...[...parts.values()].flatMap(({ lists }) =>
      KINDS.flatMap((kind) => {
        const { items, findings: found, unshaped, hints } = lists[kind] ?? {};
        return [JSON.stringify([items, found, hints]), canonical([unshaped?.items, unshaped?.findings])];
      }),
    ),
    ...SELECTIONS.flatMap((selection) =>
      KINDS.flatMap((kind) =>
        viewOf(catalog, selection)
          .list(kind)
          .map(({ item }) => JSON.stringify([selection, item])),
      ),
    ),
    ...entries.tools.flatMap(({ upstream, original, exposed }) => [
      JSON.stringify(catalog.tool(exposed.dotted)),
      JSON.stringify(catalog.tool(exposed.strict)),
      JSON.stringify(catalog.toolOf(upstream, original)),
      JSON.stringify(catalog.bareTool(upstream, exposed.bare)),
    ]),
    ...entries.resources.map(({ exposed }) => JSON.stringify(catalog.resourceByUri(exposed.dotted))),
  ];
}

/** The same without the order, of items as of keys: lists that changed in nothing else keep the order that they had. */
function whatever(texts: readonly string[]): readonly string[] {
  return texts.map((text) => canonical(JSON.parse(text, inOrder))).toSorted();
}

function inOrder(_key: string, value: unknown): unknown {
  return Array.isArray(value)
    ? value.toSorted((one, other) => (canonical(one) < canonical(other) ? -1 : 1))
    : value;
}

it('a list read again gives the catalog that a list read for the first time gives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const world = new World();
      const screens = [world.screen(), world.screen()];
      let [again, judged, fresh] = [1, 2, 3].map(() => buildCatalog([], NAMING));
      for (const taken of steps) {
        if (again === undefined || judged === undefined || fresh === undefined) {
          return;
        }
        world.take(taken, again);
        const before = { again, fresh };
        const parts = await world.parts(undefined);
        again = buildCatalog(await world.parts(again), NAMING, again, screens[0]);
        judged = buildCatalog(parts, NAMING, judged, screens[1]);
        fresh = buildCatalog(parts, NAMING, undefined, world.screen());
        expect(said(again)).toEqual(said(judged));
        expect(whatever(said(again))).toEqual(whatever(said(fresh)));
        const changes = changesBetween(before.fresh, fresh);
        expect(changesBetween(before.again, again)).toEqual(changes);
        const swap = { changes: ['tools', 'prompts', 'resources'] as const, owner: undefined };
        const sight = { key: 'some', shows: ({ original }: { original: string }) => original !== 'x' };
        for (const selection of SELECTIONS) {
          expect(changesSeen(selection, sight, { ...swap, before: before.again, after: again })).toEqual(
            changesSeen(selection, sight, { ...swap, before: before.fresh, after: fresh }),
          );
        }
      }
    }),
    { numRuns: 40 },
  );
});
