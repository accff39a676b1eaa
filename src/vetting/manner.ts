import { type About, finding, quoted, type VettingFinding } from './finding.ts';
import type { FindingId } from './finding-table.ts';
import { outOfSight, unseenIn } from './invisible.ts';
import { type Manner, PHRASES, saidElsewhere } from './manner-phrases.ts';
import { saidIn, sentencesOf } from './phrases.ts';
import type { PlacedText } from './texts.ts';

const SAYS: Readonly<Record<Manner, string>> = {
  'text.overrides': 'It speaks over the instructions of the model',
  'text.conceals': 'It asks the model to keep something from the user',
  'text.wants-secrets': 'It asks the model for what it should not hand over',
  'text.steers-tools': 'It gives orders about other tools',
};

/** Marks by which a text poses as a part of the prompt that no server writes. */
const POSES = [
  '<system>',
  '</system>',
  '<|im_start|>',
  '<|system|>',
  '[inst]',
  '<<sys>>',
  '[system prompt]',
  '### system',
];

/** Files that nobody hands to a tool by a description. */
const PRIVATE_FILES = [
  '~/.ssh',
  '.ssh/id_',
  'id_rsa',
  '.aws/credentials',
  '~/.cursor/mcp.json',
  '/etc/shadow',
  '/etc/passwd',
  '.git-credentials',
  '.docker/config.json',
  '.pypirc',
  '.pgpass',
  'wallet.dat',
  '~/.config/gh/',
  '.netrc',
  '.npmrc',
  '~/.config/gcloud',
  '.kube/config',
];
const TAKES = new Set([
  'read',
  'open',
  'cat',
  'load',
  'fetch',
  'include',
  'access',
  'send',
  'upload',
  'content',
  'contents',
  'provide',
  'pass',
]);

/** Nothing can be said in one plain word, and most texts of a schema are one: types, formats, choices. */
const ONE_WORD = /^[\w$#.:/~-]*$/;

/** What a text is about. */
export interface Surroundings {
  /** Which of these words are names of other servers' tools. */
  readonly foreign: (words: readonly string[]) => readonly string[];
  /** Words by which a server speaks of its own tools: "any other browser tools". */
  readonly own: ReadonlySet<string>;
}

const NOWHERE: Surroundings = { foreign: () => [], own: new Set() };

/**
 * Judges each text of one item, and the item by all of them: two ways at once are what poisoned tools look like, one
 * alone may be clumsy. What a hidden text says is judged as well.
 */
export function mannerFindings(
  about: About,
  texts: readonly PlacedText[],
  around: Surroundings = NOWHERE,
): readonly VettingFinding[] {
  const found = new Map<FindingId, VettingFinding>();
  const note = (id: FindingId, place: string, reason: string) => {
    if (!found.has(id)) {
      found.set(id, finding(id, { ...about, place }, reason));
    }
  };
  for (const { place, text } of texts) {
    if (ONE_WORD.test(text)) {
      continue;
    }
    const unseen = unseenIn(text);
    const hidden = [...unseen.found, ...outOfSight(text).map((each) => quoted(each, 120).slice(1, -1))];
    if (unseen.disguised || unseen.message !== '') {
      const spells = unseen.message === '' ? '' : `, which spell ${quoted(unseen.message)}`;
      note('text.hidden-message', place, `It holds ${unseen.found.join(', ')}${spells}.`);
    } else if (hidden.length > 0) {
      note('text.invisible', place, `It holds ${hidden.join(', ')}.`);
    }
    for (const { id, reason } of waysOf(
      unseen.message === '' ? text : `${text}\n${unseen.message}`,
      around,
    )) {
      note(id, place, reason);
    }
  }
  if (found.size > 1) {
    const ids = [...found.keys()];
    const [first] = found.values();
    note('text.poisoned', first?.place ?? '', `It does several of these at once: ${ids.join(', ')}.`);
  }
  return [...found.values()];
}

function waysOf(
  text: string,
  { foreign, own }: Surroundings,
): readonly { readonly id: Manner; readonly reason: string }[] {
  const words = sentencesOf(text);
  const said = saidIn(withoutOwn(words, own), PHRASES);
  const elsewhere = saidElsewhere(text);
  // A public key is there to be handed over.
  const lower = text.toLowerCase();
  const plain = lower.includes('.pub') ? lower.replaceAll(/\S{0,200}\.pub\b/g, '') : lower;
  const pose = POSES.find((mark) => plain.includes(mark));
  const file = PRIVATE_FILES.find((path) => plain.includes(path));
  const takes = file !== undefined && words.some((word) => TAKES.has(word)) ? file : undefined;
  const ways: readonly (readonly [Manner, string | undefined])[] = [
    ['text.overrides', said.get('text.overrides') ?? pose],
    ['text.conceals', said.get('text.conceals')],
    ['text.wants-secrets', said.get('text.wants-secrets') ?? takes],
    ['text.steers-tools', said.get('text.steers-tools') ?? ordersAbout(words, foreign)],
  ];
  return ways.flatMap(([id, mine]) => {
    const what = mine ?? elsewhere.get(id);
    return what === undefined ? [] : [{ id, reason: `${SAYS[id]}: ${quoted(what)}.` }];
  });
}

const TOOLS = new Set(['tool', 'tools', 'function', 'functions']);

/** Tools that are called by a word of the server itself are its own, whatever is said about them. */
function withoutOwn(words: readonly string[], own: ReadonlySet<string>): readonly string[] {
  return own.size === 0
    ? words
    : words.map((word, at) => (TOOLS.has(word) && own.has(words[at - 1] ?? '') ? 'own!' : word));
}

const ORDERS = new Set(['must', 'always', 'not!', 'instead', 'before', 'whenever', 'important', 'when']);

/** Another server's tool, named in a text that gives orders. */
function ordersAbout(words: readonly string[], foreign: Surroundings['foreign']): string | undefined {
  const [name] = foreign(words);
  const isOrder = (word: string, at: number) =>
    ORDERS.has(word) || (word === 'time' && ['every', 'each'].includes(words[at - 1] ?? ''));
  return name !== undefined && words.some(isOrder) ? name : undefined;
}
