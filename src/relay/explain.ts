import { believedHint, EVERYTHING, rulesAbout, type Subject } from '../access/policy.ts';
import { ANONYMOUS, type Principal } from '../access/principal.ts';
import type { Entry } from '../catalog/entry.ts';
import { toolJudge } from '../catalog/shape.ts';
import { type ListedItem, resourceAt, type View, type ViewSelection, viewOf } from '../catalog/view.ts';
import { KIND_FACTS, type Kind } from '../protocol/model.ts';
import { type Entrance, sightOf } from './context.ts';
import { Absences } from './explain-absence.ts';
import type { ExplainOptions, Inquiry } from './explain-options.ts';
import { saysOf } from './explain-words.ts';
import type {
  AccessExplained,
  Configured,
  Explanation,
  ListExplained,
  Route,
  RuleNamed,
  UpstreamExplained,
  Verdict,
} from './explanation.ts';
import { GATEWAY_TOOLS, isSearched } from './find-tools.ts';
import type { Onlooker } from './lookup.ts';

/** Something that a name stands for. */
interface Found {
  readonly subject: Subject;
  /** Of a resource that is in no list there is none. */
  readonly entry: Entry | undefined;
  readonly withheld: boolean;
}

interface Look {
  readonly who: Inquiry;
  readonly seen: Found | undefined;
  readonly found: Found | undefined;
}

/** States in which a call ends at once with UPSTREAM_DOWN or UPSTREAM_REMOVED. */
const DOWN: ReadonlySet<string> = new Set(['backoff', 'broken', 'draining', 'off']);

/** Kinds of names, in the order in which a name without a kind is looked for. */
const NAMED = ['tools', 'prompts'] as const;
const WITH_URIS = ['tools', 'prompts', 'templates', 'resources'] as const;

/**
 * Says what a name leads to, for whom, and why. It decides nothing: what leads where is asked of {@link Lookup}, what may
 * be seen of the rules and the view, so that what it says is what a request is answered by.
 */
export class Explainer {
  readonly #options: ExplainOptions;
  readonly #absences: Absences;

  constructor(options: ExplainOptions) {
    this.#options = options;
    this.#absences = new Absences(options);
  }

  /** Nobody is waited for or asked: it is the state of this moment. */
  async explain(inquiry: Inquiry): Promise<Explanation> {
    const kinds = inquiry.kind === undefined ? kindsOf(inquiry.name) : [inquiry.kind];
    const mine = GATEWAY_TOOLS.find(({ name }) => name === inquiry.name);
    if (mine !== undefined && inquiry.open && kinds.includes('tools') && isSearched(inquiry.entrance)) {
      return { ...OWN, asked: askedOf(inquiry), definition: mine };
    }
    const own = this.#look(kinds, inquiry);
    const { who, seen, found } = own.found === undefined ? (this.#assumed(kinds, inquiry) ?? own) : own;
    const there = found && (await this.#about(found, who));
    const absence = seen === undefined ? this.#absences.of(kinds, inquiry, found?.subject) : null;
    const told = {
      asked: askedOf(inquiry),
      verdict: seen === undefined ? (found ? 'hidden' : 'absent') : this.#verdict(seen, inquiry),
      assumed: who !== inquiry,
      absence,
      ...(there ?? NOTHING),
      list: found?.entry === undefined ? null : this.#list(inquiry.principal, found.entry),
      upstream: this.#upstream(found?.subject.upstream ?? absence?.upstream),
      nearest: seen === undefined ? this.#absences.nearest(kinds, who) : [],
    } as const;
    return { ...told, says: saysOf(told) };
  }

  /** What it stands for to whoever asks, and to somebody who may see everything. */
  #look(kinds: readonly Kind[], who: Inquiry): Look {
    const seen = who.open ? this.#first(kinds, who.name, who) : undefined;
    return { who, seen, found: seen ?? this.#first(kinds, who.name, all(who)) };
  }

  /** By what the gateway itself is told, where the list of a principal has not been read: it may turn out to be the same. */
  #assumed(kinds: readonly Kind[], inquiry: Inquiry): Look | undefined {
    const look = this.#look(kinds, { ...inquiry, principal: ANONYMOUS });
    const entry = look.found?.entry;
    const isUnread =
      entry !== undefined &&
      this.#options.store.gap(inquiry.principal, entry.upstream, entry.kind) !== undefined;
    return isUnread ? look : undefined;
  }

  #first(kinds: readonly Kind[], name: string, onlooker: Onlooker): Found | undefined {
    for (const kind of kinds) {
      const found = this.#find(kind, name, onlooker);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  #find(kind: Kind, name: string, onlooker: Onlooker): Found | undefined {
    const { lookup } = this.#options;
    if (kind === 'tools' || kind === 'prompts') {
      const glimpse = lookup.glance(kind, name, onlooker);
      return glimpse && { subject: glimpse.leads, entry: glimpse.leads, withheld: glimpse.withheld };
    }
    const listed = this.#listed(kind, onlooker, ({ item }) => item[KIND_FACTS[kind].key] === name)?.entry;
    if (kind === 'templates' || listed !== undefined) {
      return listed && { subject: listed, entry: listed, withheld: false };
    }
    const glimpse = lookup.glanceAt(name, onlooker);
    return glimpse && { subject: resourceAt(glimpse.leads), entry: undefined, withheld: glimpse.withheld };
  }

  /** As it is told there, in a list or when it is found. */
  #listed(kind: Kind, onlooker: Onlooker, test: (listed: ListedItem) => boolean) {
    return this.#view(onlooker).list(kind).find(test);
  }

  #view({ principal, ...where }: Onlooker): View {
    return viewOf(this.#options.store.of(principal), where.entrance.selection, sightOf(where));
  }

  async #standing(
    kind: Kind,
    inquiry: Inquiry,
    test: (listed: ListedItem) => boolean,
  ): Promise<Pick<Route, 'listed' | 'found'>> {
    const there = inquiry.open ? this.#listed(kind, inquiry, test) : undefined;
    if (there === undefined || kind !== 'tools') {
      return { listed: there !== undefined, found: false };
    }
    const { listed, found } = await this.#options.shown.standing(this.#view(inquiry), inquiry);
    return { listed: listed.has(there.entry), found: found.has(there.entry) };
  }

  /** In the order in which a request is refused. */
  #verdict({ subject, withheld }: Found, { access }: Onlooker): Verdict {
    if (access.lacking(subject).length > 0) {
      return 'scopes';
    }
    const state = this.#options.report(subject.upstream)?.state ?? 'off';
    return withheld ? 'withheld' : DOWN.has(state) ? 'unavailable' : 'usable';
  }

  async #about({ subject, entry }: Found, inquiry: Inquiry): Promise<About> {
    const { upstream, original } = subject;
    const kind = subject.kind as Kind;
    const { store, settings, findings } = this.#options;
    const isIt = ({ entry: other }: ListedItem) => other.upstream === upstream && other.original === original;
    const uri = entry === undefined ? store.of(inquiry.principal).exposeUri(upstream, original) : original;
    return {
      route: {
        kind,
        upstream,
        original,
        names: entry?.exposed ?? { dotted: uri, strict: uri, bare: original },
        ...(await this.#standing(kind, inquiry, isIt)),
      },
      access: this.#access(subject, inquiry),
      view: inquiry.entrance.filter.ruling(subject),
      configured: kind === 'tools' ? this.#configured(upstream, original) : null,
      hints:
        kind === 'tools'
          ? {
              readOnly: believedHint(settings(), subject, 'readOnly'),
              destructive: believedHint(settings(), subject, 'destructive'),
              openWorld: believedHint(settings(), subject, 'openWorld'),
            }
          : null,
      findings: findings().filter(
        (each) => each.upstream === upstream && each.kind === kind && each.item === original,
      ),
      definition: entry === undefined ? null : (this.#listed(kind, all(inquiry), isIt)?.item ?? entry.item),
    };
  }

  #access(subject: Subject, { access, as }: Inquiry): AccessExplained {
    const settings = this.#options.settings();
    const { rule, ...ruling } = access.ruling(subject);
    const about = as === undefined ? rulesAbout(settings, subject) : [];
    return {
      ...ruling,
      rule: rule === undefined ? null : this.#named(rule),
      rules: settings.access.length,
      needs: access.needed(subject),
      lacks: access.lacking(subject),
      about: about.flatMap(({ rule: at, allowed }) => {
        const who = at === undefined ? undefined : settings.access[at]?.who;
        return at === undefined || who === undefined ? [] : [{ ...this.#named(at), allowed, who }];
      }),
    };
  }

  #named(rule: number): RuleNamed {
    return { number: rule + 1, line: this.#options.lineOf(rule) ?? null };
  }

  #configured(upstream: string, original: string): Configured | null {
    const tools = this.#options.settings().upstreams[upstream]?.tools;
    if (tools === undefined) {
      return null;
    }
    const own = <V>(entries: Readonly<Record<string, V>>) =>
      Object.hasOwn(entries, original) ? (entries[original] ?? null) : null;
    return {
      allowedBy: toolJudge(tools)(original).pattern ?? null,
      renamed: own(tools.rename),
      described: own(tools.describe) !== null,
      annotated: own(tools.annotate),
    };
  }

  #list(principal: Principal, { upstream, kind }: Entry): ListExplained {
    const { store, rereadEvery } = this.#options;
    const standing = store.standing(principal, upstream, kind);
    const { readAt, hints, whose } = standing;
    return {
      ...standing,
      ageMs: readAt === undefined ? null : Math.max(0, Date.now() - readAt),
      everyMs: whose === 'everybody' ? (rereadEvery(upstream, kind, hints) ?? null) : null,
    };
  }

  #upstream(id: string | undefined): UpstreamExplained | null {
    const { settings, report } = this.#options;
    const configured = id === undefined ? undefined : settings().upstreams[id];
    const standing = id === undefined ? undefined : report(id);
    if (id === undefined || configured === undefined || standing === undefined) {
      return null;
    }
    const { kind, optional, isolation, timeouts, limits, retry } = configured;
    const { state, era, since, lastError } = standing;
    const fault = lastError === undefined ? {} : { lastError };
    return { id, kind, state, era, since, ...fault, optional, isolation, timeouts, limits, retry };
  }
}

type About = Pick<
  Explanation,
  'route' | 'access' | 'view' | 'configured' | 'hints' | 'findings' | 'definition'
>;

const NOTHING: About & { readonly route: Route | null } = {
  route: null,
  access: null,
  view: null,
  configured: null,
  hints: null,
  findings: [],
  definition: null,
};

/** Of the gateway's own tools: no server has them, so nothing more can be said. */
const OWN = {
  ...NOTHING,
  verdict: 'usable',
  says: 'It is a tool of the gateway itself, for finding and calling the tools that are not in the list here.',
  assumed: false,
  absence: null,
  list: null,
  upstream: null,
  nearest: [],
} as const;

function askedOf({ name, kind, as, entrance }: Inquiry): Explanation['asked'] {
  return { name, kind, as: as ?? null, endpoint: endpointOf(entrance), names: entrance.selection.style };
}

function kindsOf(name: string): readonly Kind[] {
  return /^[a-z][a-z0-9+.-]*:/i.test(name) || name.includes('{') ? WITH_URIS : NAMED;
}

/** The same place for somebody who may see everything of that catalog. */
function all({ principal, entrance }: Onlooker): Onlooker {
  return { principal, access: EVERYTHING, entrance: { ...entrance, filter: EVERYTHING } };
}

/** Where an entrance is served. */
function endpointOf({ id, selection }: Entrance): string {
  const view = /^view (.+)$/.exec(id)?.[1];
  const name: ViewSelection['upstream'] = view ?? selection.upstream;
  return name === undefined ? '/mcp' : `/mcp/${name}`;
}
