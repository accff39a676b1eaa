import type { AccessRuling, BelievedHint } from '../access/policy.ts';
import type { HintName, Ruling } from '../access/rules.ts';
import type { ListStanding } from '../catalog/list-standing.ts';
import type { CatalogFinding } from '../catalog/part.ts';
import type { Settings } from '../config/settings.ts';
import type { UpstreamReport } from '../observe/status.ts';
import type { Item, Kind } from '../protocol/model.ts';
import type { VettingFinding } from '../vetting/finding.ts';

/** What `patchbay explain` prints and `/api/explain` answers; docs/api.md has its shape. No secret is in any part. */
export interface Explanation {
  readonly asked: Asked;
  readonly verdict: Verdict;
  /** The list of this principal has not been read, so this goes by that of the gateway itself. */
  readonly assumed: boolean;
  /** The verdict and its reason in one sentence. */
  readonly says: string;
  /** What the name stands for, whether it may be used or not; null where it stands for nothing. */
  readonly route: Route | null;
  /** Why it is not there, where it is not. */
  readonly absence: Absence | null;
  /** What rules say of it. */
  readonly access: AccessExplained | null;
  /** What the view says of it. */
  readonly view: Pick<Ruling<never>, 'allowed' | 'because'> | null;
  /** What the configuration makes of the tool. */
  readonly configured: Configured | null;
  /** What is believed of its hints: what `where` goes by. */
  readonly hints: Readonly<Record<HintName, BelievedHint>> | null;
  /** The list that it is in. */
  readonly list: ListExplained | null;
  readonly upstream: UpstreamExplained | null;
  readonly findings: readonly AnyFinding[];
  /** Names that may have been meant, where it is not there. */
  readonly nearest: readonly string[];
  /** As clients are told it; null where it stands for nothing, and for a resource that is in no list. */
  readonly definition: Item | null;
}

/** What the catalog found while it was read, or what was found in it. */
export type AnyFinding = CatalogFinding | VettingFinding;

/**
 * usable: a call is sent to its upstream. scopes: it is listed, and a use of it is refused with 403. withheld: its
 * definition waits for approval, so it is in no list, and a call is told so. unavailable: its upstream does not serve now. hidden: it is there, and not for these eyes: answered like what does not exist. absent: it
 * does not exist.
 */
export type Verdict = 'usable' | 'scopes' | 'withheld' | 'unavailable' | 'hidden' | 'absent';

export interface Asked {
  readonly name: string;
  /** Undefined: any. */
  readonly kind: Kind | undefined;
  /** As it was given; null: for nobody in particular. */
  readonly as: string | null;
  /** Path of the endpoint. */
  readonly endpoint: string;
  readonly names: 'dotted' | 'strict' | 'bare';
}

export interface Route {
  readonly kind: Kind;
  readonly upstream: string;
  /** Name, URI or URI template, as the upstream has it. */
  readonly original: string;
  /** What clients call it. bare: where its upstream is served alone, at `/mcp/<upstream>`. */
  readonly names: { readonly dotted: string; readonly strict: string; readonly bare: string };
  /** Whether it is in the list that is served at this endpoint to this principal. */
  readonly listed: boolean;
  /** Whether it is not, and `search_tools` finds it there (docs/search.md). */
  readonly found: boolean;
}

/**
 * denied: a rule or the absence of one. view: the view does not show it. endpoint: nothing of this upstream may be seen.
 * other: it is in the catalog of others, but not in that of this principal. elsewhere: it has this name at another
 * endpoint. renamed: the configuration calls it otherwise. configuration: `tools.allow` and `tools.deny` take it out.
 * gone: it was there once. upstream: its likely server was not read.
 * unknown: nobody has it.
 */
export interface Absence {
  readonly reason:
    | 'denied'
    | 'view'
    | 'endpoint'
    | 'other'
    | 'elsewhere'
    | 'renamed'
    | 'configuration'
    | 'gone'
    | 'upstream'
    | 'unknown';
  /** The upstream that it is about, where one is known. */
  readonly upstream?: string;
  /** What to use instead: names at this endpoint, or endpoints that have it. */
  readonly instead?: readonly string[];
  /** The pattern of the configuration that decides; absent where nothing allows it. */
  readonly pattern?: string;
}

export interface AccessExplained extends Omit<AccessRuling, 'rule'> {
  readonly rule: RuleNamed | null;
  /** How many rules there are; without any everybody may use everything. */
  readonly rules: number;
  /** Scopes that a use needs, and those of them that are lacking. */
  readonly needs: readonly string[];
  readonly lacks: readonly string[];
  /** All rules that name it, whoever they are for, each by itself; where nobody in particular was asked for. */
  readonly about: readonly RuleExplained[];
}

export interface RuleNamed {
  /** From 1, in the order of the configuration. */
  readonly number: number;
  /** Line in its file, where that is known. */
  readonly line: number | null;
}

export interface RuleExplained extends RuleNamed {
  readonly allowed: boolean;
  readonly who: Settings['access'][number]['who'];
}

export interface Configured {
  /** The pattern of `tools.allow` that lets it be there. */
  readonly allowedBy: string | null;
  readonly renamed: string | null;
  readonly described: boolean;
  readonly annotated: Readonly<Record<string, unknown>> | null;
}

export interface ListExplained extends ListStanding {
  /** How old it is, in ms. */
  readonly ageMs: number | null;
  /** After how many ms it is read again by itself; null: when its server says that it changed, or when somebody asks. */
  readonly everyMs: number | null;
}

type UpstreamSettings = Settings['upstreams'][string];

export interface UpstreamExplained
  extends Pick<UpstreamReport, 'state' | 'era' | 'since' | 'lastError'>,
    Pick<UpstreamSettings, 'optional' | 'isolation' | 'timeouts' | 'limits' | 'retry'> {
  readonly id: string;
  readonly kind: UpstreamSettings['kind'];
}
