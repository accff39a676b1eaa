import { stripVTControlCharacters } from 'node:util';

/** A server's text on one line: nothing in it can move the cursor, colour the terminal or turn the reading order. */
export function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/\p{Cf}/gu, '')
    .trim();
}

/** A server's text for a terminal: its lines and tabs stay, control characters and escape sequences go. */
export function forTerminal(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, '');
}

/** Ideographs, Hangul, full-width forms and emoji take two columns. */
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function widthOf(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Columns that a line takes in a terminal. */
function displayWidth(line: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(line)) {
    width += widthOf(segment);
  }
  return width;
}

/** The line, or as much of it as fits into `width` columns with `…` at its end. */
function cutTo(line: string, width: number): string {
  if (displayWidth(line) <= width) {
    return line;
  }
  let kept = '';
  let left = width - 1;
  for (const { segment } of graphemes.segment(line)) {
    left -= widthOf(segment);
    if (left < 0) {
      break;
    }
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** Less than this says nothing: in a narrow terminal the line breaks instead. */
const SHORTEST_LAST_CELL = 20;

/**
 * Rows as aligned columns, two blanks apart, each line after `indent`. Cells are texts of servers and come out on one
 * line. Where a width is given, the last cell of a row is cut to end within it.
 */
export function table(rows: readonly (readonly string[])[], indent: string, width?: number): string[] {
  const cells = rows.map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of cells) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(cell));
    }
  }
  return cells.map((row) => {
    const last = row.length - 1;
    const before = row
      .slice(0, last)
      .map((cell, column) => `${cell}${' '.repeat((widths[column] ?? 0) - displayWidth(cell))}  `)
      .join('');
    const left = (width ?? Number.POSITIVE_INFINITY) - indent.length - displayWidth(before);
    return `${indent}${before}${cutTo(row[last] ?? '', Math.max(left, SHORTEST_LAST_CELL))}`.trimEnd();
  });
}

/** `1 tool`, `2 tools`; takes the plural. */
export function counted(count: number, plural: string): string {
  return `${count} ${count === 1 ? plural.slice(0, -1) : plural}`;
}
