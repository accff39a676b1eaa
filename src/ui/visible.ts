/** A sign that nobody would see, or that turns the text around it, by its code point. */
export interface Mark {
  /** Such as `U+202E`. */
  readonly code: string;
}

/**
 * Control and format characters, separators, private and unassigned code points, halves of surrogate pairs, and letters
 * without a shape. Not line breaks and tabs, and not the joiner within an emoji.
 */
const UNSEEN =
  /(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic}))[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5|[\u{e0100}-\u{e01ef}]/gu;

/** A text of somebody else in pieces: what can be shown as it is, and marks for what cannot. */
export function piecesOf(text: string): readonly (string | Mark)[] {
  const pieces: (string | Mark)[] = [];
  let done = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > done) {
      pieces.push(text.slice(done, found.index));
    }
    pieces.push({ code: codeOf(found[0]) });
    done = found.index + found[0].length;
  }
  if (done < text.length) {
    pieces.push(text.slice(done));
  }
  return pieces;
}

/** The same as one text, where only text can stand. */
export function plain(text: string): string {
  return text.replaceAll(UNSEEN, (sign) => `[${codeOf(sign)}]`);
}

function codeOf(sign: string): string {
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
