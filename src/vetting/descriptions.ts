import type { Item, Kind } from '../protocol/model.ts';
import { type About, finding, quoted, type VettingFinding } from './finding.ts';
import { book, saidIn, sentencesOf } from './phrases.ts';

/** Where widespread clients cut a description or the instructions of a server, in characters. */
export const LONGEST_TEXT = 2048;
/** A definition that takes more, in bytes as JSON, is most of what a model reads. */
const LARGE_BYTES = 16 * 1024;

const MONTHS =
  'january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec';

/** What is said for now only. A plain date is none: examples hold dates. */
const TEMPORARY = book({
  temporary: [
    'not ~0 yet ~1 implemented|supported|available|working|complete|ready|stable|released',
    'not ~0 implemented|supported|available|working|complete|ready|stable|released ~0 yet',
    'currently ~0 only ~1 works|supports|available|supported|for',
    "isn't|aren't|unsupported|unavailable|unimplemented|missing|broken|disabled ~2 yet|currently|temporarily",
    'coming ~0 soon',
    'temporarily|currently ~1 disabled|unavailable|broken|down|unsupported|limited',
    'until ~0 further ~0 notice',
    'work ~0 in ~0 progress',
    'will ~1 be ~1 removed|deprecated|replaced|added|supported ~3 in|soon|after|by',
    `as ~0 of ~1 ${MONTHS}|today|now`,
    `last ~0 updated|changed|reviewed ~2 on|in|${MONTHS}`,
  ],
});

export function descriptionFindings(
  upstream: string,
  kind: Exclude<Kind, 'resources'>,
  items: readonly Item[],
): readonly VettingFinding[] {
  return items.flatMap((item) => {
    const name = String(item[kind === 'templates' ? 'uriTemplate' : 'name']);
    return oneDescription({ upstream, kind, item: name, place: '/description' }, item);
  });
}

function oneDescription(about: About, item: Item): readonly VettingFinding[] {
  const { description } = item;
  const text = typeof description === 'string' ? description.trim() : '';
  const bytes = Buffer.byteLength(JSON.stringify(item));
  const found: VettingFinding[] = [];
  // A URI template says by itself what it leads to.
  if (text === '' && about.kind !== 'templates') {
    found.push(finding('description.missing', about, 'It has none.'));
  }
  if (text.length > LONGEST_TEXT) {
    found.push(finding('description.long', about, `It has ${text.length} characters.`));
  }
  const passing = saidIn(sentencesOf(text), TEMPORARY).get('temporary') ?? datedYear(text);
  if (passing !== undefined) {
    found.push(finding('description.temporary', about, `It says ${quoted(passing)}.`));
  }
  if (bytes > LARGE_BYTES) {
    found.push(finding('definition.large', { ...about, place: '' }, `It takes ${bytes} bytes.`));
  }
  return found;
}

/** `as of 2026`, `as of 2026-05`. */
function datedYear(text: string): string | undefined {
  return /\b(?:as of|updated) 20\d\d\b/i.exec(text)?.[0];
}
