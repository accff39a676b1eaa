import { stringAt } from '../base/json.ts';
import { type ListedItem, viewOf } from '../catalog/view.ts';
import type { Settings } from '../config/settings.ts';
import type { Gateway } from '../gateway.ts';
import { codecFor } from '../protocol/codec.ts';
import type { Kind } from '../protocol/model.ts';
import { LATEST_MODERN } from '../protocol/versions.ts';
import { whileConnected } from './connected.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, openGateway } from './open.ts';
import { troubleLine, troublesOf } from './reach.ts';
import { unknownUpstream } from './suggest.ts';
import { counted, table } from './text.ts';

export interface ItemsOptions extends GlobalOptions {
  readonly json?: boolean;
  readonly names?: 'dotted' | 'strict';
  readonly upstream?: string;
}

/** What each command lists. */
const LISTED = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'templates'],
} as const satisfies Record<string, readonly Kind[]>;
export type ItemsCommand = keyof typeof LISTED;

/**
 * `tools`, `prompts`, `resources`: prints what clients are offered. Exit code 1 where an upstream that is needed could
 * not be read; what the others offer is printed all the same.
 */
export function listing(command: ItemsCommand): (options: ItemsOptions, io: Io) => Promise<ExitCode> {
  return async (options, io) => {
    const { gateway, settings } = await openGateway(options, io, 'throwaway');
    const only = options.upstream;
    const fault = only === undefined ? undefined : unknownUpstream(only, settings);
    if (fault !== undefined) {
      io.err(fault);
      await gateway.close();
      return EXIT.usage;
    }
    return whileConnected(gateway, io, () => {
      const listed = LISTED[command].flatMap((kind) => itemsOf(kind, gateway, options, settings));
      io.out(options.json ? asJson(listed) : asText(command, listed, io.columns));
      return complain(gateway, only, io);
    });
  };
}

function itemsOf(
  kind: Kind,
  gateway: Gateway,
  { names, upstream }: ItemsOptions,
  settings: Settings,
): readonly ListedItem[] {
  const style = names ?? settings.naming.style;
  const selection = { style, ...(upstream === undefined ? {} : { upstream }) };
  return viewOf(gateway.store.current, selection).list(kind);
}

/** The items as the lists of the gateway hold them for a modern client. */
function asJson(listed: readonly ListedItem[]): string {
  const codec = codecFor(LATEST_MODERN);
  const items = listed.map(({ entry, item }) => codec.encodeItem(entry.kind, item));
  return `${JSON.stringify(items, null, 2)}\n`;
}

function asText(command: ItemsCommand, listed: readonly ListedItem[], width: number | undefined): string {
  if (listed.length === 0) {
    return `There are no ${command}.\n`;
  }
  const blocks = [...new Set(listed.map(({ entry }) => entry.upstream))].map((upstream) => {
    const items = listed.filter(({ entry }) => entry.upstream === upstream);
    const lines = table(items.map(rowOf), '  ', width);
    return [`${upstream}: ${countsOf(command, items)}`, ...lines, ''].join('\n');
  });
  return blocks.join('\n');
}

function countsOf(command: ItemsCommand, items: readonly ListedItem[]): string {
  return LISTED[command]
    .map((kind) => counted(items.filter(({ entry }) => entry.kind === kind).length, kind))
    .join(', ');
}

function rowOf({ item, entry }: ListedItem): readonly string[] {
  const title = stringAt(item, 'title') ?? stringAt(item['annotations'], 'title');
  const description = stringAt(item, 'description');
  if (entry.kind === 'tools' || entry.kind === 'prompts') {
    return [stringAt(item, 'name') ?? '', textOf(title, description)];
  }
  const uri = stringAt(item, 'uri') ?? stringAt(item, 'uriTemplate') ?? '';
  return [uri, stringAt(item, 'mimeType') ?? '', textOf(title ?? stringAt(item, 'name'), description)];
}

/** Title and first line of the description: what follows is written for a model. */
function textOf(title: string | undefined, description: string | undefined): string {
  const [first] = description?.trim().split('\n', 1) ?? [];
  return [title, first].filter((each) => each !== undefined && each !== '').join(': ');
}

/** Says who is missing. An upstream that was asked for by name is needed, whatever the configuration says. */
function complain(gateway: Gateway, only: string | undefined, io: Io): ExitCode {
  const missing = troublesOf(gateway).filter(({ upstream }) => only === undefined || upstream === only);
  for (const trouble of missing) {
    io.err(`${troubleLine(trouble)}\n`);
  }
  return missing.every(({ optional }) => optional && only === undefined) ? EXIT.ok : EXIT.failed;
}
