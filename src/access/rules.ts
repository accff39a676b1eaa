import {
  ASPECTS,
  type Aspect,
  aspectOf,
  identityText,
  type Patterns,
  patternsFor,
  type Subject,
} from './patterns.ts';
import { readingsOf } from './uri-readings.ts';

/** No list holds a longer name or URI; one that a client makes up must not cost much time. */
const LONGEST_JUDGED = 8_192;

/** What a tool says of itself, as far as it is believed. */
export type HintName = 'readOnly' | 'destructive' | 'openWorld';
export type HintValue = boolean | 'missing';

/** One rule without the question for whom it is. A subject that neither list names is left to the next rule. */
export interface Rule {
  /** Read before `allow`. */
  readonly deny: readonly string[];
  readonly allow: readonly string[];
  /** Only tools whose hints are so: then the rule is about nothing else. */
  readonly where?: Readonly<Partial<Record<HintName, HintValue>>>;
}

/** The believed hint of a tool. */
export type Hints = (tool: Subject, name: HintName) => HintValue;

/** What one rule has to say about one aspect of one upstream. */
interface Clause<R extends Rule> {
  readonly rule: R;
  readonly deny: Patterns;
  readonly allow: Patterns;
}

interface Verdict<R extends Rule> {
  readonly rule: R;
  readonly allowed: boolean;
}

/**
 * What a judge says, and why. unnamed: no rule names it. reading: a URI that its server may read in another way, which the
 * rule that allows this one does not allow. too-long: longer than anything in a list.
 */
export interface Ruling<R extends Rule> {
  readonly allowed: boolean;
  readonly because: 'allowed' | 'denied' | 'unnamed' | 'reading' | 'too-long';
  /** The rule that decided; undefined where none did. */
  readonly rule: R | undefined;
  /** That other way, where it decided. */
  readonly reading?: string;
}

/** A rule whose patterns are compiled once for each upstream, whoever is judged by it. */
export class CompiledRule<R extends Rule> {
  readonly rule: R;
  readonly #clauses = new Map<string, Readonly<Record<Aspect, Clause<R>>>>();

  constructor(rule: R) {
    this.rule = rule;
  }

  clause(upstream: string, aspect: Aspect): Clause<R> {
    let clauses = this.#clauses.get(upstream);
    if (clauses === undefined) {
      const { rule } = this;
      const clauseFor = (each: Aspect): Clause<R> => ({
        rule,
        deny: patternsFor(rule.deny, upstream, each),
        allow: patternsFor(rule.allow, upstream, each),
      });
      clauses = {
        tool: clauseFor('tool'),
        prompt: clauseFor('prompt'),
        resource: clauseFor('resource'),
        method: clauseFor('method'),
      };
      this.#clauses.set(upstream, clauses);
    }
    return clauses[aspect];
  }
}

/** A list of rules in their order, as one verdict. */
export class Judge<R extends Rule> {
  readonly #rules: readonly CompiledRule<R>[];
  readonly #hints: Hints;
  /** By upstream and aspect: the clauses that can decide anything there, up to the first that decides everything. */
  readonly #clauses = new Map<string, ReadonlyMap<Aspect, readonly Clause<R>[]>>();

  constructor(rules: readonly CompiledRule<R>[], hints: Hints) {
    this.#rules = rules;
    this.#hints = hints;
  }

  /** The rule that allows it; undefined: denied. See {@link ruling}. */
  allowedBy(subject: Subject): R | undefined {
    const { allowed, rule } = this.ruling(subject);
    return allowed ? rule : undefined;
  }

  /**
   * The first rule that names it decides, with its `deny` before its `allow`; what none names is denied. A URI that a
   * server may read in another way has to be allowed by the same rule in every one; where only the spelling differs it is
   * enough that no rule names that one. What is too long to be in any list is denied.
   */
  ruling(subject: Subject): Ruling<R> {
    if (subject.original.length > LONGEST_JUDGED) {
      return { allowed: false, because: 'too-long', rule: undefined };
    }
    const verdict = this.#verdict(subject);
    if (verdict === undefined) {
      return { allowed: false, because: 'unnamed', rule: undefined };
    }
    const { rule, allowed } = verdict;
    if (subject.kind === 'resources' && allowed) {
      for (const { uri, elsewhere } of readingsOf(subject.original)) {
        const other = this.#verdict({ ...subject, original: uri });
        const agrees = other === undefined ? !elsewhere : other.allowed && other.rule === rule;
        if (!agrees) {
          return { allowed: false, because: 'reading', rule: other?.rule, reading: uri };
        }
      }
    }
    return { allowed, because: allowed ? 'allowed' : 'denied', rule };
  }

  /** What the first rule says that names it. */
  #verdict(subject: Subject): Verdict<R> | undefined {
    const text = identityText(subject);
    for (const { rule, deny, allow } of this.#clausesOf(subject.upstream).get(aspectOf(subject)) ?? []) {
      if (rule.where === undefined || this.#holds(rule.where, subject)) {
        if (deny.match(text)) {
          return { rule, allowed: false };
        }
        if (allow.match(text)) {
          return { rule, allowed: true };
        }
      }
    }
    return undefined;
  }

  /** Whether any rule allows anything of this upstream that an earlier one has not denied altogether. */
  sees(upstream: string): boolean {
    return [...this.#clausesOf(upstream).values()].some((clauses) =>
      clauses.some(({ deny, allow }) => allow.reach !== 'none' && deny.reach !== 'all'),
    );
  }

  #clausesOf(upstream: string): ReadonlyMap<Aspect, readonly Clause<R>[]> {
    let known = this.#clauses.get(upstream);
    if (known === undefined) {
      known = new Map(ASPECTS.map((aspect) => [aspect, this.#deciding(upstream, aspect)]));
      this.#clauses.set(upstream, known);
    }
    return known;
  }

  #deciding(upstream: string, aspect: Aspect): readonly Clause<R>[] {
    const clauses: Clause<R>[] = [];
    for (const compiled of this.#rules) {
      const { where } = compiled.rule;
      const clause = compiled.clause(upstream, aspect);
      const { deny, allow } = clause;
      const speaks = deny.reach !== 'none' || allow.reach !== 'none';
      if (speaks && (where === undefined || aspect === 'tool')) {
        clauses.push(clause);
        if (where === undefined && (deny.reach === 'all' || allow.reach === 'all')) {
          break;
        }
      }
    }
    return clauses;
  }

  #holds(where: NonNullable<Rule['where']>, tool: Subject): boolean {
    return Object.entries(where).every(([name, wanted]) => this.#hints(tool, name as HintName) === wanted);
  }
}
