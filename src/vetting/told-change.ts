import { quoted } from './finding.ts';

/** So much of a text is shown before the place where it differs. */
const LEAD = 16;
const MOST = 60;

/** What became of one member, in words: of long texts the piece that differs. */
export function toldChange(what: string, before: unknown, after: unknown): string {
  if (before === undefined) {
    return `${what} was added: ${piece(textOf(after), 0)}`;
  }
  if (after === undefined) {
    return `${what} was removed`;
  }
  const [old, now] = [textOf(before), textOf(after)];
  const from = Math.max(0, firstDifference(old, now) - LEAD);
  return `${what} was ${piece(old, from)} and is ${piece(now, from)}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function piece(text: string, from: number): string {
  return quoted(from === 0 ? text : `…${text.slice(from)}`, MOST);
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) {
    at += 1;
  }
  return at;
}
