import { listingOf } from '../access/listing.ts';
import { ANONYMOUS } from '../access/principal.ts';
import { viewFilter } from '../access/view-filter.ts';
import { viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import type { Gateway } from '../gateway.ts';
import type { Item } from '../protocol/model.ts';
import { Shown } from '../relay/find-list.ts';
import { type CountTokens, tokenizer } from '../relay/find-tokens.ts';
import { Joined } from '../relay/progressive.ts';
import { counted, table } from './text.ts';

/** What definitions of tools cost a model that is given them, in tokens of {@link tokenizer}. */
export interface TokenReport {
  readonly encoding: 'o200k_base';
  /** By upstream, in config order. */
  readonly upstreams: Readonly<Record<string, { readonly tools: number; readonly tokens: number }>>;
  /** By name; `default` is always there. As a list is before anything was found. */
  readonly views: Readonly<Record<string, ViewTokens>>;
}

interface ViewTokens {
  readonly mode: Settings['views'][string]['mode'];
  /** All that can be called there. */
  readonly tools: number;
  readonly all: number;
  /** How many of them are listed, and how many of the gateway's own besides; what that costs together. */
  readonly listed: number;
  readonly own: number;
  readonly tokens: number;
  readonly maxTokens?: number;
}

/** Counts what the servers of a gateway say of their tools, and what each view lists of that. */
export async function tokenReport(gateway: Gateway, settings: Settings): Promise<TokenReport> {
  const count = await tokenizer();
  const { entries, parts } = gateway.store.current;
  const upstreams = [...parts.keys()].map((id) => {
    const theirs = entries.tools.filter(({ upstream }) => upstream === id);
    return [
      id,
      {
        tools: theirs.length,
        tokens: sum(
          theirs.map(({ item }) => item),
          count,
        ),
      },
    ] as const;
  });
  const shown = new Shown(new Joined({ grown: () => {} }), tokenizer);
  const views: [string, ViewTokens][] = [];
  for (const [name, view] of Object.entries({ default: undefined, ...settings.views })) {
    views.push([name, await viewTokens(gateway, settings, view, { shown, count })]);
  }
  return {
    encoding: 'o200k_base',
    upstreams: Object.fromEntries(upstreams),
    views: Object.fromEntries(views),
  };
}

async function viewTokens(
  gateway: Gateway,
  settings: Settings,
  settled: Settings['views'][string] | undefined,
  { shown, count }: { readonly shown: Shown; readonly count: CountTokens },
): Promise<ViewTokens> {
  const filter = viewFilter(settled ?? { include: ['*'], exclude: [] });
  const selection = { style: settled?.naming ?? settings.naming.style };
  const listing = settled && listingOf(settled);
  const instructions = { own: undefined, upstreams: false };
  const entrance = { id: '', selection, filter, instructions, ...(listing === undefined ? {} : { listing }) };
  const view = viewOf(gateway.store.current, selection, filter);
  const { own, listed } = await shown.tools(view, { principal: ANONYMOUS, entrance });
  const all = view.list('tools').map(({ item }) => item);
  return {
    mode: settled?.mode ?? 'list',
    tools: all.length,
    all: sum(all, count),
    listed: listed.length,
    own: own.length,
    tokens: sum([...own, ...listed.map(({ item }) => item)], count),
    ...(settled === undefined || settled.maxTokens === 0 ? {} : { maxTokens: settled.maxTokens }),
  };
}

function sum(items: readonly Item[], count: CountTokens): number {
  return items.reduce((total, item) => total + count(JSON.stringify(item)), 0);
}

export function tokenLines({ encoding, upstreams, views }: TokenReport): readonly string[] {
  const number = (value: number) => value.toLocaleString('en');
  return [
    `Tokens of the definitions of tools (${encoding})`,
    ...table(
      Object.entries(upstreams).map(([id, { tools, tokens }]) => [
        id,
        counted(tools, 'tools'),
        number(tokens),
      ]),
      '  ',
    ),
    '',
    'Views',
    ...table(
      Object.entries(views).map(([name, view]) => [
        name,
        view.mode,
        `${number(view.tokens)} in a list of ${view.own + view.listed}`,
        viewRemark(view, number),
      ]),
      '  ',
    ),
    '',
  ];
}

/** What is not in the list, so that nobody takes it for lost. */
function viewRemark(
  { mode, tools, all, listed, maxTokens }: ViewTokens,
  number: (value: number) => string,
): string {
  const bound = maxTokens === undefined ? [] : [`at most ${number(maxTokens)}`];
  const isWhole = mode === 'list' && listed === tools;
  const rest = isWhole ? [] : [`${counted(tools, 'tools')} of ${number(all)} in all, found by search_tools`];
  return [...bound, ...rest].join('; ');
}
