/** Where a text stops being JSON; line and column count from 1. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Between tokens. */
const BLANK = /[ \t\n\r]*/y;

/** One token of RFC 8259: punctuation, a string, or another scalar. */
const TOKEN =
  /[{}[\],:]|"(?:[ !#-[\]-\u{10ffff}]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

/** What may come next, in words. */
type Want =
  | 'a value'
  | 'a value or "]"'
  | 'a name in double quotes'
  | 'a name in double quotes or "}"'
  | '":"'
  | '"," or';

/**
 * The first fault of a text that `JSON.parse` refuses; undefined where there is none. The engine's own message often
 * lacks the position, and it changes from one version to the next.
 */
export function jsonFault(text: string): JsonFault | undefined {
  const open: ('}' | ']')[] = [];
  let want: Want = 'a value';
  let at = 0;
  for (;;) {
    BLANK.lastIndex = at;
    at += BLANK.exec(text)?.[0].length ?? 0;
    const closer = open.at(-1);
    const over: boolean = want === '"," or' && closer === undefined;
    if (at === text.length) {
      return over ? undefined : faultAt(text, at, `it ends where ${inWords(want, closer)} should be`);
    }
    TOKEN.lastIndex = at;
    const token: string | undefined = TOKEN.exec(text)?.[0];
    const next: Want | undefined = over || token === undefined ? undefined : step(token, want, open);
    if (token === undefined || next === undefined) {
      return faultAt(text, at, over ? 'something follows the value' : misfit(text, at, want, closer));
    }
    want = next;
    at += token.length;
  }
}

/** What is wanted after the token, with `open` brought up to date; undefined where the token is not what was wanted. */
function step(token: string, want: Want, open: ('}' | ']')[]): Want | undefined {
  if (token === open.at(-1) && (want === '"," or' || want.endsWith(` or "${token}"`))) {
    open.pop();
    return '"," or';
  }
  switch (want) {
    case '":"':
      return token === ':' ? 'a value' : undefined;
    case '"," or':
      return token === ',' ? (open.at(-1) === '}' ? 'a name in double quotes' : 'a value') : undefined;
    case 'a name in double quotes':
    case 'a name in double quotes or "}"':
      return token.startsWith('"') ? '":"' : undefined;
    default:
      return afterValue(token, open);
  }
}

function afterValue(token: string, open: ('}' | ']')[]): Want | undefined {
  if (token === '{' || token === '[') {
    open.push(token === '{' ? '}' : ']');
    return token === '{' ? 'a name in double quotes or "}"' : 'a value or "]"';
  }
  return '}],:'.includes(token) ? undefined : '"," or';
}

function misfit(text: string, at: number, want: Want, closer: string | undefined): string {
  TOKEN.lastIndex = at;
  return text[at] === '"' && !TOKEN.test(text)
    ? 'the string that starts here does not end, or holds an escape or a character that JSON does not allow'
    : `${inWords(want, closer)} should be here`;
}

function inWords(want: Want, closer: string | undefined): string {
  return want === '"," or' ? `"," or "${closer}"` : want;
}

function faultAt(text: string, at: number, message: string): JsonFault {
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, message };
}
