/**
 * Text of a host's file in neutral parts: what stands there as it is, and what is looked up. So literal text is told from
 * references until the very end, and each host's dialect is read once.
 */
export type Wording = readonly Part[];
export type Part =
  | { readonly literal: string }
  /** `standIn`: what holds where the variable is not set. */
  | { readonly variable: string; readonly standIn?: string | undefined }
  | { readonly file: string };

export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function literal(text: string): Wording {
  return [{ literal: text }];
}

/** Cuts a text into parts. `meaning` says what a match stands for; undefined where it is literal after all. */
export function cut(
  text: string,
  pattern: RegExp,
  meaning: (match: RegExpExecArray) => Part | undefined,
): Wording {
  const parts: Part[] = [];
  let before = '';
  let done = 0;
  for (const match of text.matchAll(pattern)) {
    const part = meaning(match);
    before += text.slice(done, match.index) + (part === undefined ? match[0] : '');
    done = match.index + match[0].length;
    if (part !== undefined) {
      parts.push(...(before === '' ? [] : literal(before)), part);
      before = '';
    }
  }
  before += text.slice(done);
  return before === '' && parts.length > 0 ? parts : [...parts, { literal: before }];
}

/** The text where nothing in it is looked up. */
export function plain(wording: Wording): string | undefined {
  return wording.every((part) => 'literal' in part)
    ? wording.map((part) => ('literal' in part ? part.literal : '')).join('')
    : undefined;
}

/** Variables that have to be set, without a default. */
export function needed(wording: Wording): readonly string[] {
  return wording.flatMap((part) => ('variable' in part && part.standIn === undefined ? [part.variable] : []));
}

/** A `$` that stands before a reference would make the reference literal, and nothing can be written in its place. */
export function canBeWritten(wording: Wording): boolean {
  return wording.every((part, at) => {
    const next = wording[at + 1];
    return !('literal' in part && part.literal.endsWith('$') && next !== undefined && !('literal' in next));
  });
}

/** As the configuration of the gateway writes it: `${env:X}`, `${file:…}`, and `$${` for a literal `${`. */
export function written(wording: Wording): string {
  return wording
    .map((part) => {
      if ('literal' in part) {
        return part.literal.replaceAll('${', () => '$${');
      }
      if ('file' in part) {
        return `\${file:${part.file}}`;
      }
      return `\${env:${part.variable}${part.standIn === undefined ? '' : `:-${part.standIn}`}}`;
    })
    .join('');
}
