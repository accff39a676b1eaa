/** What a text holds that people do not see. Every test is over single signs, so the time is linear. */
export interface Unseen {
  /** Short words for what was found, such as `zero-width signs`. Empty: nothing. */
  readonly found: readonly string[];
  /** The text that tag characters or variation selectors spell, where they spell one; '' otherwise. */
  readonly message: string;
  /** The direction of reading is turned, or a terminal is given orders. */
  readonly disguised: boolean;
}

const ZERO_WIDTH = new Set([0x00ad, 0x034f, 0x180e, 0x200b, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xfeff]);
/** Letters without a shape: Hangul fillers, and the blank of Braille. */
const BLANKS = new Set([0x115f, 0x1160, 0x2800, 0x3164, 0xffa0]);
const JOINERS = new Set([0x200c, 0x200d]);
const BLACK_FLAG = 0x1f3f4;

const isTag = (sign: number) => sign >= 0xe0000 && sign <= 0xe007f;
const isSelector = (sign: number) =>
  (sign >= 0xfe00 && sign <= 0xfe0f) || (sign >= 0xe0100 && sign <= 0xe01ef);
const turns = (sign: number) => (sign >= 0x202a && sign <= 0x202e) || (sign >= 0x2066 && sign <= 0x2069);
const commands = (sign: number) =>
  (sign < 0x20 && sign !== 0x09 && sign !== 0x0a && sign !== 0x0d) || (sign >= 0x7f && sign <= 0x9f);

/** Signs that anybody sees: Latin, Cyrillic, dashes, arrows, mathematics, kana, Han. Most texts hold no others. */
const SEEN =
  /^[\t\n\r -~\u00a1-\u00ac\u00ae-\u024f\u0400-\u0481\u2010-\u2027\u2030-\u205e\u2190-\u27bf\u3000-\u3029\u3041-\u3096\u30a0-\u30ff\u4e00-\u9fff]*$/;

/**
 * Looks for invisible signs. Those that writing needs are none: joiners within emoji and within scripts that have them,
 * one variation selector after a sign, the tags of a flag, a byte order mark at the start.
 */
export function unseenIn(text: string): Unseen {
  if (SEEN.test(text)) {
    return NOTHING;
  }
  const signs = Array.from(text, (sign) => sign.codePointAt(0) ?? 0);
  const found = new Set<string>();
  let message = '';
  let disguised = false;
  let inFlag = false;
  for (const [at, sign] of signs.entries()) {
    const before = signs[at - 1] ?? 0;
    inFlag = sign === BLACK_FLAG || (inFlag && isTag(sign));
    if (isTag(sign) && !inFlag) {
      found.add('tag characters');
      message += sign >= 0xe0020 && sign < 0xe007f ? String.fromCharCode(sign - 0xe0000) : '';
    } else if (isSelector(sign) && isSelector(before)) {
      found.add('variation selectors in a row');
      message += byteOf(before, message === '') + byteOf(sign, true);
    } else if ((ZERO_WIDTH.has(sign) && at > 0) || (JOINERS.has(sign) && !joins(before, signs[at + 1]))) {
      found.add('zero-width signs');
    } else if (BLANKS.has(sign)) {
      found.add('blank letters');
    } else if (turns(sign)) {
      found.add('signs that turn the direction of reading');
      disguised ||= sign === 0x202d || sign === 0x202e;
    } else if (commands(sign)) {
      found.add('control characters');
      disguised ||= sign === 0x1b || sign === 0x9b;
    }
  }
  return { found: [...found], message: message.trim(), disguised };
}

const NOTHING: Unseen = { found: [], message: '', disguised: false };

/** Variation selectors stand for bytes: VS1 to VS16 for 0 to 15, VS17 to VS256 for the rest. */
function byteOf(selector: number, counts: boolean): string {
  const byte = selector >= 0xe0100 ? selector - 0xe0100 + 16 : selector - 0xfe00;
  return counts && byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '';
}

/** Emoji are joined, and so are letters of Arabic and of the scripts of India and their neighbours. */
function joins(before: number, after: number | undefined): boolean {
  const needs =
    /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|(?![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}])[\p{L}\p{M}]/u;
  return (
    needs.test(String.fromCodePoint(before)) &&
    (after === undefined || needs.test(String.fromCodePoint(after)))
  );
}

/** Most blank lines, or blanks, in a row that layout explains: beyond, what follows is out of sight. */
const LONGEST_GAP = { lines: 12, blanks: 120 };

/** Shorter than any that is too large. */
const A_GAP = /\s{13}/;

/** Ways to hide without invisible signs: a comment where Markdown is shown, or far below or beside what is seen. */
export function outOfSight(text: string): readonly string[] {
  const found: string[] = [];
  const comment = commentIn(text);
  if (comment !== undefined) {
    found.push(`a comment that is not shown: ${comment}`);
  }
  let lines = 0;
  let blanks = 0;
  if (!A_GAP.test(text)) {
    return found;
  }
  for (const sign of text.trim()) {
    const isBlank = sign.trim() === '';
    lines = isBlank ? lines + (sign === '\n' ? 1 : 0) : 0;
    blanks = isBlank && sign !== '\n' ? blanks + 1 : 0;
    if (lines > LONGEST_GAP.lines || blanks > LONGEST_GAP.blanks) {
      found.push('a gap so large that what follows is out of sight');
      break;
    }
  }
  return found;
}

/** The first HTML comment of at least four words: shorter ones are marks for tools. */
function commentIn(text: string): string | undefined {
  const from = text.indexOf('<!--');
  const to = from === -1 ? -1 : text.indexOf('-->', from + 4);
  const comment = to === -1 ? '' : text.slice(from + 4, to).trim();
  return comment.split(/\s+/u).length >= 4 ? comment : undefined;
}
