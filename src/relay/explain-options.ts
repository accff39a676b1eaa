import type { Store } from '../catalog/store.ts';
import type { Settings } from '../config/settings.ts';
import type { UpstreamReport } from '../observe/status.ts';
import type { CacheHints, Kind } from '../protocol/model.ts';
import type { Caller } from './context.ts';
import type { AnyFinding } from './explanation.ts';
import type { Shown } from './find-list.ts';
import type { Hello } from './hello.ts';
import type { Lookup, Onlooker } from './lookup.ts';

/** Whose eyes something is looked at with, and from where. Each may be absent. */
export interface Gaze {
  /** See access/as-principal.ts; undefined: nobody in particular, who may use everything. */
  readonly as: string | undefined;
  /** Name of a view, or id of an upstream that is looked at alone. */
  readonly view: string | undefined;
  readonly names: 'dotted' | 'strict' | undefined;
  readonly kind: Kind | undefined;
}

/** What explaining needs: the very parts that answer requests, and what is known of the upstreams. */
export interface ExplainOptions {
  readonly store: Store<Caller>;
  readonly hello: Hello;
  readonly lookup: Lookup;
  readonly shown: Shown;
  readonly settings: () => Settings;
  readonly report: (upstream: string) => UpstreamReport | undefined;
  /** All there are, of everything. */
  readonly findings: () => readonly AnyFinding[];
  /** Line of a rule in the file of the configuration; takes its position, from 0. */
  readonly lineOf: (rule: number) => number | undefined;
  /** When a list of everybody's is read again by itself, in ms; undefined: only when told. */
  readonly rereadEvery: (upstream: string, kind: Kind, hints: CacheHints) => number | undefined;
}

/** What is asked for, by an operator: nobody else is told any of this. */
export interface Inquiry extends Onlooker {
  readonly name: string;
  readonly kind: Kind | undefined;
  /** For whom, as it was given; undefined: nobody in particular, who may use everything. */
  readonly as: string | undefined;
  /** Whether such a principal is let in at this endpoint. */
  readonly open: boolean;
}
