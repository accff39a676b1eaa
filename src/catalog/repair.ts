import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../base/json.ts';
import { type Item, KIND_FACTS, type Kind } from '../protocol/model.ts';
import { measure } from './bounds.ts';
import { mendMembers } from './members.ts';
import type { Finding } from './part.ts';
import { sameJson } from './reuse.ts';
import { mendInputSchema, mendKeywords } from './schema.ts';

/** Items fit to be served, and what had to be done for it. */
interface Repaired {
  readonly items: readonly Item[];
  readonly findings: readonly Finding[];
}

/** A repair in progress, fed page by page so that what is left out is not kept until the end of a long walk. */
export interface Repair {
  add(raw: readonly unknown[]): void;
  /** What the items kept so far take in memory, in bytes, estimated. */
  readonly cost: number;
  done(): Repaired;
}

/** Longest name, URI or template that is served: a longer one could not be put into a header or a URL anyway. */
const LONGEST_KEY = { name: 1024, uri: 8192, uriTemplate: 4096 } as const;

/** A list that is malformed throughout must not flood the log and the status page. */
const MOST_FINDINGS = 100;

/** How much of a key a finding repeats. */
const LABEL_LENGTH = 128;

/**
 * Judges each raw item alone, so that a malformed one never takes its list down (case C-009). A good item comes out as
 * the same object. Small faults are repaired; items without a usable name, duplicates (the first stays), and what is
 * too large to be safe (case C-014) are left out. Every decision is a finding. Positions and duplicates count over all
 * pages of the list.
 *
 * @param before the items of this list as they came out the last time. One that says the same still is taken from there,
 *   as the same object: in a long list of which one item has changed, one item is judged.
 */
export function startRepair(kind: Kind, before: readonly Item[] = []): Repair {
  const { key: member } = KIND_FACTS[kind];
  const known = new Map<unknown, Item>(before.map((item) => [item[member], item]));
  const items = new Map<string, Item>();
  const findings: Finding[] = [];
  let position = 0;
  let cost = 0;
  const take = (value: unknown): void => {
    const key = isObject(value) ? value[member] : undefined;
    const judged = unchanged(key, value, known.get(key)) ?? judge(kind, value, position);
    position += 1;
    if (judged.item === undefined) {
      findings.push(...judged.findings);
      return;
    }
    const first = items.get(judged.key);
    if (first !== undefined) {
      findings.push(duplicate(kind, judged.key, isDeepStrictEqual(first, judged.item)));
      return;
    }
    items.set(judged.key, judged.item);
    findings.push(...judged.findings);
    cost += judged.cost;
  };
  return {
    add: (raw) => raw.forEach(take),
    get cost() {
      return cost;
    },
    done: () => ({ items: [...items.values()], findings: shortened(kind, findings) }),
  };
}

function shortened(kind: Kind, findings: readonly Finding[]): readonly Finding[] {
  const more = findings.length - MOST_FINDINGS;
  if (more <= 0) {
    return findings;
  }
  const reason = `${more} further findings about this list are not shown.`;
  const last: Finding = {
    id: 'list.more-findings',
    severity: 'warning',
    kind,
    item: '',
    reason,
    advice: ASK_THE_AUTHOR,
  };
  return [...findings.slice(0, MOST_FINDINGS), last];
}

type Judged =
  | {
      readonly item: Item;
      readonly key: string;
      readonly cost: number;
      readonly findings: readonly Finding[];
    }
  | { readonly item: undefined; readonly findings: readonly Finding[] };

/** What items cost that came out as they came in, with nothing to be said about them. */
const sound = new WeakMap<Item, number>();

/** An item that says the same as a sound one is that one. */
function unchanged(key: unknown, value: unknown, before: Item | undefined): Judged | undefined {
  const cost = before && sound.get(before);
  return cost !== undefined && typeof key === 'string' && sameJson(before, value)
    ? { item: before, key, cost, findings: [] }
    : undefined;
}

function judge(kind: Kind, value: unknown, position: number): Judged {
  const leftOut = (id: string, reason: string, item = `#${position}`): Judged => ({
    item: undefined,
    findings: [{ id, severity: 'error', kind, item, reason: `Left out: ${reason}.`, advice: ASK_THE_AUTHOR }],
  });
  if (!isObject(value)) {
    return leftOut('item.not-an-object', 'it is not a JSON object');
  }
  const member = KIND_FACTS[kind].key;
  const key = value[member];
  if (typeof key !== 'string' || key === '') {
    return leftOut('item.no-name', `it has no ${member}`);
  }
  const label = labelOf(key);
  if (key.length > LONGEST_KEY[member] || /\p{Cc}/u.test(key)) {
    const reason = `its ${member} is longer than ${LONGEST_KEY[member]} characters or holds control characters`;
    return leftOut('item.bad-name', reason, label);
  }
  const measured = measure(value);
  if (!measured.fits) {
    return leftOut('item.too-large', measured.excess, label);
  }
  const mended = mend(kind, value, key);
  if ('refused' in mended) {
    return leftOut('tool.schema-not-object', mended.refused, label);
  }
  const findings = mended.notes.map((reason): Finding => {
    const advice = 'It is served repaired. Ask the author of the server to mend it.';
    return { id: 'item.repaired', severity: 'warning', kind, item: label, reason: `${reason}.`, advice };
  });
  if (kind === 'tools' && measured.outside !== undefined) {
    findings.push(remoteReference(label, measured.outside));
  }
  if (mended.item === value && findings.length === 0) {
    sound.set(value, measured.cost);
  }
  return { item: mended.item, key, cost: measured.cost, findings };
}

const ASK_THE_AUTHOR = 'Ask the author of the server to mend it; everything else of this server is served.';

type Mended = { readonly item: JsonObject; readonly notes: readonly string[] } | { readonly refused: string };

function mend(kind: Kind, value: JsonObject, key: string): Mended {
  const { value: item, notes } = mendMembers(kind, value);
  if (kind === 'tools') {
    return mendTool(item, notes);
  }
  // Clients with strict validation reject the whole list for one resource without a name.
  if (kind !== 'prompts' && (typeof item['name'] !== 'string' || item['name'] === '')) {
    return {
      item: { ...item, name: key },
      notes: [...notes, `It had no name; its ${KIND_FACTS[kind].key} is used`],
    };
  }
  return { item, notes };
}

function mendTool(tool: JsonObject, notes: readonly string[]): Mended {
  const input = mendInputSchema(tool['inputSchema']);
  if ('refused' in input) {
    return input;
  }
  const output = isObject(tool['outputSchema'])
    ? mendKeywords(tool['outputSchema'], 'outputSchema')
    : { schema: undefined, notes: [] };
  const all = [...notes, ...input.notes, ...output.notes];
  if (input.notes.length + output.notes.length === 0) {
    return { item: tool, notes: all };
  }
  const schemas = output.schema === undefined ? {} : { outputSchema: output.schema };
  return { item: { ...tool, inputSchema: input.schema, ...schemas }, notes: all };
}

/** A repeat of the same definition loses nothing; a different one under the same name does. */
function duplicate(kind: Kind, key: string, same: boolean): Finding {
  return {
    id: 'item.duplicate',
    severity: same ? 'notice' : 'warning',
    kind,
    item: labelOf(key),
    reason: `The server lists it more than once${same ? '' : ', with different definitions'}; the first is served.`,
    advice: 'Ask the author of the server to list it once.',
  };
}

function remoteReference(item: string, reference: string): Finding {
  return {
    id: 'schema.remote-reference',
    severity: 'warning',
    kind: 'tools',
    item,
    reason: `A schema refers to another document (${labelOf(reference)}), which is never fetched.`,
    advice: 'Ask the author of the server to put the referenced schema into $defs.',
  };
}

function labelOf(key: string): string {
  const line = key.replaceAll(/\p{Cc}/gu, ' ');
  return line.length <= LABEL_LENGTH ? line : `${line.slice(0, LABEL_LENGTH - 1)}…`;
}
