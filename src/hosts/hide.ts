import type { Path } from '../config/problems.ts';
import { type Draft, remark, wordingsOf } from './draft.ts';
import { variableFor } from './ids.ts';
import { type Part, plain, type Wording } from './wording.ts';

const TELLING = /token|secret|key|passw|pwd|auth|credential|cookie|dsn/i;
/** Where a secret is, or how it is used, is none. */
const ABOUT_SECRETS = /(?:file|path|dir|sock|ur[li]|endpoint|host|issuer|method|type|name|id|level|mode)$/i;
/** Beginnings that well-known issuers give their tokens, and the shape of a JWT. */
const SHAPED =
  /^(?:sk-|pk-|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA|AIza|ya29\.|eyJ[\w-]{10,}\.|npm_|hf_|dop_v1_)/;
/** What may stand under a telling name without being a secret: a switch, a number, or a reference that the server expands. */
const HARMLESS = /^(?:true|false|yes|no|none|\d{1,5}|(?:\w+\s+)?\$(?:\w+|\{[^{}]*\})|)$/i;
const LONG_AND_MIXED = /^(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{24,}$/;

const isTelling = (name: string): boolean => TELLING.test(name) && !ABOUT_SECRETS.test(name);

function looksSecret(value: string): boolean {
  return SHAPED.test(value) || (URL.canParse(value) && new URL(value).password !== '');
}

/** Gives each secret a variable of its own; equal secrets share one. */
export class Variables {
  readonly #values = new Map<string, string | undefined>();

  /** `referred`: names that the files look up themselves. */
  constructor(referred: Iterable<string>) {
    for (const name of referred) {
      this.#values.set(name, undefined);
    }
  }

  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  for(value: string, wanted: string, ...others: readonly string[]): string {
    const candidates = [wanted, ...others];
    for (let number = 2; ; number += 1) {
      for (const name of candidates) {
        if (!this.#values.has(name) || this.#values.get(name) === value) {
          this.#values.set(name, value);
          return name;
        }
      }
      candidates.splice(0, candidates.length, `${others.at(-1) ?? wanted}_${number}`);
    }
  }
}

/**
 * Puts variables in the place of secrets that stand in a draft as they are: in `env`, headers, arguments and URLs. By
 * the name that they stand under, and by their shape. `id`: of the upstream, for the names.
 */
export function hideSecrets(draft: Draft, id: string, variables: Variables): void {
  const hide = (at: Path, value: string, ...names: readonly [string, ...string[]]): Part => {
    const variable = variables.for(value, ...names);
    remark(draft, `a secret stood here; set the variable ${variable} to it`, at);
    return { variable };
  };
  dropSecretDefaults(draft);
  for (const [name, text] of draft.env) {
    const value = plain(text);
    if (value !== undefined && ((isTelling(name) && !HARMLESS.test(value)) || looksSecret(value))) {
      draft.env.set(name, [hide(['env', name], value, variableFor(name), variableFor(id, name))]);
    }
  }
  for (const [name, text] of draft.headers) {
    const value = plain(text);
    if (
      value !== undefined &&
      !HARMLESS.test(value) &&
      (isTelling(name) || value.split(' ').some(looksSecret))
    ) {
      const own = name.toLowerCase() === 'authorization' ? 'token' : name;
      draft.headers.set(
        name,
        afterScheme(value, (secret) => hide(['headers', name], secret, variableFor(id, own))),
      );
    }
  }
  draft.args = draft.args.map((text, at) =>
    hideInArgument(draft, at, text, (value, name) => hide(['args', at], value, variableFor(id, name))),
  );
  hideInUrl(draft, (value, name) => hide(['url'], value, variableFor(id, name)));
}

/** A default is literal text too: what stands in for a variable with a telling name. */
function dropSecretDefaults(draft: Draft): void {
  const clean = (text: Wording): Wording =>
    text.map((part) => {
      const standIn = 'variable' in part ? part.standIn : undefined;
      if (standIn === undefined || !('variable' in part)) {
        return part;
      }
      if (!looksSecret(standIn) && (!isTelling(part.variable) || HARMLESS.test(standIn))) {
        return part;
      }
      remark(draft, `the default of ${part.variable} may be a secret and was left out; set the variable`);
      return { variable: part.variable };
    });
  draft.args = draft.args.map(clean);
  draft.env = new Map([...draft.env].map(([name, text]) => [name, clean(text)]));
  draft.headers = new Map([...draft.headers].map(([name, text]) => [name, clean(text)]));
  if (draft.url !== undefined) {
    draft.url = clean(draft.url);
  }
}

/** `Bearer x` keeps its first word. */
function afterScheme(value: string, hide: (secret: string) => Part): Wording {
  const [, scheme = '', secret = ''] = /^((?:Bearer|Basic|Token|ApiKey|Digest)\s+)?(.*)$/is.exec(value) ?? [];
  return scheme === '' ? [hide(secret)] : [{ literal: scheme }, hide(secret)];
}

type Hide = (value: string, name: string) => Part;

/** `--token=x`, `--token x`, `-H "Authorization: Bearer x"`, and what looks like a secret by itself. */
function hideInArgument(draft: Draft, at: number, text: Wording, hide: Hide): Wording {
  const value = plain(text);
  if (value === undefined || value === '') {
    return text;
  }
  const [, start = '', option = '', rest = ''] = /^(-*([\w-]+)\s*[=:]\s*)(.+)$/s.exec(value) ?? [];
  if (!HARMLESS.test(rest) && isTelling(option) && !rest.startsWith('//')) {
    return [{ literal: start }, ...afterScheme(rest, (secret) => hide(secret, option))];
  }
  const before = plain(draft.args[at - 1] ?? []) ?? '';
  if (/^--?[\w-]+$/.test(before) && isTelling(before) && !value.startsWith('-') && !HARMLESS.test(value)) {
    return [hide(value, before.replace(/^-+/, ''))];
  }
  return looksSecret(value) ? [hide(value, 'secret')] : text;
}

function hideInUrl(draft: Draft, hide: Hide): void {
  const [first, ...others] = draft.url ?? [];
  if (first === undefined || !('literal' in first)) {
    return;
  }
  const [whole = '', scheme = '', user = ''] = /^(https?:\/\/)([^/?#]*)@/i.exec(first.literal) ?? [];
  if (user !== '') {
    // A URL ends up in logs: what signs in goes into a header, in the form that it has there.
    const name = 'Authorization';
    if ([...draft.headers.keys()].some((header) => header.toLowerCase() === name.toLowerCase())) {
      draft.about.problem(
        [...draft.path, 'url'],
        draft.place,
        'a user name stands here, and a header "Authorization" too; keep one',
      );
    }
    const basic = Buffer.from(decoded(user)).toString('base64');
    draft.headers.set(name, [{ literal: 'Basic ' }, hide(basic, 'basic')]);
    remark(
      draft,
      'it held a user name; that is sent in a header now: "user:password" in base64 is what its variable takes',
      ['url'],
    );
  }
  const parts = [{ literal: `${scheme}${first.literal.slice(whole.length)}` }, ...others];
  draft.url = parts.flatMap((part) => ('literal' in part ? hideInQueryAndPath(part.literal, hide) : [part]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (thrown) {
    if (thrown instanceof URIError) {
      return text;
    }
    throw thrown;
  }
}

function hideInQueryAndPath(text: string, hide: Hide): Wording {
  const parts: Part[] = [];
  let done = 0;
  for (const match of text.matchAll(/[?&]([^=&#]+)=([^&#]+)|\/([^/?#]+)/g)) {
    const [all, name = '', value = '', segment = ''] = match;
    const secret = segment === '' ? value : segment;
    const found =
      segment === ''
        ? isTelling(name) || SHAPED.test(value)
        : SHAPED.test(segment) || LONG_AND_MIXED.test(segment);
    if (found && secret !== '') {
      const start = match.index + all.length - secret.length;
      parts.push({ literal: text.slice(done, start) }, hide(secret, segment === '' ? name : 'path'));
      done = start + secret.length;
    }
  }
  return [...parts, ...(done < text.length || parts.length === 0 ? [{ literal: text.slice(done) }] : [])];
}

/** Variables that a draft looks up. */
export function referredBy(draft: Draft): readonly string[] {
  return wordingsOf(draft).flatMap(([, text]) =>
    text.flatMap((part) => ('variable' in part ? [part.variable] : [])),
  );
}
