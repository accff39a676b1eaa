import { EVERYTHING, type Subject } from '../access/policy.ts';
import { ANONYMOUS } from '../access/principal.ts';
import { type Entry, exposedFor } from '../catalog/entry.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import { toolJudge } from '../catalog/shape.ts';
import { suggestions } from '../catalog/suggestions.ts';
import { viewOf } from '../catalog/view.ts';
import type { Kind } from '../protocol/model.ts';
import type { ExplainOptions, Inquiry } from './explain-options.ts';
import type { Absence } from './explanation.ts';

/** States in which what an upstream has now may be something else than what is known of it. */
const UNSURE: ReadonlySet<string> = new Set(['connecting', 'stale', 'backoff', 'broken', 'draining', 'off']);

/** How many names or endpoints are told instead of one. */
const MOST = 5;

/** Why a name leads nowhere: found by looking where else it could have been. */
export class Absences {
  readonly #options: ExplainOptions;

  constructor(options: ExplainOptions) {
    this.#options = options;
  }

  /** `hidden`: what it stands for, to those who may see it. */
  of(kinds: readonly Kind[], inquiry: Inquiry, hidden: Subject | undefined): Absence {
    const { access, entrance, open } = inquiry;
    const upstream = hidden?.upstream ?? entrance.selection.upstream;
    if (!open) {
      return { reason: 'endpoint', ...(upstream === undefined ? {} : { upstream }) };
    }
    if (hidden !== undefined) {
      const reason = access.ruling(hidden).allowed ? 'view' : 'denied';
      return { reason, upstream: hidden.upstream };
    }
    return (
      this.#ofOthers(kinds, inquiry) ??
      (kinds.includes('tools') ? this.#configuredAway(inquiry) : undefined) ??
      this.#gone(kinds, inquiry) ??
      this.#elsewhere(kinds, inquiry) ??
      this.#unread(inquiry) ?? { reason: 'unknown' }
    );
  }

  /** Names that may have been meant, at the same endpoint. */
  nearest(kinds: readonly Kind[], { name, principal, entrance }: Inquiry): readonly string[] {
    const view = viewOf(this.#options.store.of(principal), entrance.selection);
    const entries = kinds.flatMap((kind) => view.list(kind).map(({ entry }) => entry));
    return suggestions(name, entries, entrance.selection.style).filter((each) => each !== name);
  }

  /** In the catalog of those who have no list of their own, where this principal has one. */
  #ofOthers(kinds: readonly Kind[], { name, principal, entrance }: Inquiry): Absence | undefined {
    const { lookup, store } = this.#options;
    if (store.of(principal) === store.current) {
      return undefined;
    }
    const whole = { ...entrance, filter: EVERYTHING };
    const everybody = { principal: ANONYMOUS, access: EVERYTHING, entrance: whole };
    const [found] = kinds.flatMap((kind) =>
      kind === 'tools' || kind === 'prompts' ? (lookup.glance(kind, name, everybody) ?? []) : [],
    );
    return found && { reason: 'other', upstream: found.leads.upstream };
  }

  /** A tool that the configuration leaves out, or calls otherwise. */
  #configuredAway(inquiry: Inquiry): Absence | undefined {
    const { settings, store, lookup } = this.#options;
    const { name, principal, entrance } = inquiry;
    const { selection } = entrance;
    const catalog = store.of(principal);
    for (const [upstream, part] of catalog.parts) {
      const here = selection.upstream === undefined || selection.upstream === upstream;
      const tools = settings().upstreams[upstream]?.tools;
      const original =
        tools === undefined || !here || !lookup.mayOwn(upstream, name, inquiry)
          ? undefined
          : this.#originalOf(name, part, selection.style);
      if (tools !== undefined && original !== undefined) {
        const { there, pattern } = toolJudge(tools)(original);
        const now = catalog.toolOf(upstream, original)?.exposed[selection.style];
        if (!there) {
          return { reason: 'configuration', upstream, ...(pattern === undefined ? {} : { pattern }) };
        }
        if (now !== undefined && now !== name) {
          return { reason: 'renamed', upstream, instead: [now] };
        }
      }
    }
    return undefined;
  }

  /** The tool that would have this name if nothing were configured. */
  #originalOf(name: string, part: UpstreamPart, style: keyof Entry['exposed']): string | undefined {
    const naming = this.#options.settings().naming;
    const tools = part.lists.tools?.unshaped ?? part.lists.tools;
    return tools?.items
      .map((item) => String(item['name']))
      .find((original) => {
        const exposed = exposedFor({ ...part, name: original, shown: original }, naming);
        return style === 'bare' ? exposed.bare === name : exposed.dotted === name || exposed.strict === name;
      });
  }

  #gone(kinds: readonly Kind[], inquiry: Inquiry): Absence | undefined {
    const { lookup, store } = this.#options;
    const went = kinds.includes('tools') ? lookup.went('tools', inquiry.name, inquiry) : undefined;
    if (went === undefined) {
      return undefined;
    }
    const { upstream, to } = went;
    const now = to === undefined ? undefined : store.of(inquiry.principal).toolOf(upstream, to);
    const instead = now === undefined ? {} : { instead: [now.exposed[inquiry.entrance.selection.style]] };
    return { reason: 'gone', upstream, ...instead };
  }

  #elsewhere(kinds: readonly Kind[], { name, principal, entrance }: Inquiry): Absence | undefined {
    const { selection } = entrance;
    const { entries } = this.#options.store.of(principal);
    const same = kinds.flatMap((kind) => entries[kind].filter((entry) => namesIn(entry).includes(name)));
    const [first] = same;
    if (first === undefined) {
      return undefined;
    }
    const here = same.filter(({ upstream }) => (selection.upstream ?? upstream) === upstream);
    const instead =
      here.length > 0
        ? here.map(({ exposed }) => exposed[selection.style])
        : same.map(({ upstream, exposed }) => (exposed.bare === name ? `/mcp/${upstream}` : '/mcp'));
    return { reason: 'elsewhere', upstream: first.upstream, instead: [...new Set(instead)].slice(0, MOST) };
  }

  /** Its likely server was never read, or cannot be read now. Of several the one with the longest namespace. */
  #unread(inquiry: Inquiry): Absence | undefined {
    const { settings, report, store, lookup } = this.#options;
    const { name, principal, entrance } = inquiry;
    const { selection } = entrance;
    const { parts } = store.of(principal);
    const owners = Object.values(settings().upstreams)
      .filter(({ id }) => (selection.upstream ?? id) === id && lookup.mayOwn(id, name, inquiry))
      .filter(({ namespace }) => namespace !== '' || selection.style === 'bare')
      .toSorted((one, other) => other.namespace.length - one.namespace.length);
    const unsure = owners.find(({ id }) => !parts.has(id) || UNSURE.has(report(id)?.state ?? 'off'));
    return unsure && { reason: 'upstream', upstream: unsure.id };
  }
}

function namesIn({ original, exposed }: Entry): readonly string[] {
  return [original, exposed.dotted, exposed.strict, exposed.bare];
}
