import { type About, finding, quoted, type VettingFinding } from './finding.ts';
import type { FindingId } from './finding-table.ts';
import { outOfSight, unseenIn } from './invisible.ts';
import { type Book, book, saidIn, sentencesOf } from './phrases.ts';
import type { PlacedText } from './texts.ts';

/**
 * How a text speaks to the model. Phrases are what published poisoned tools say, each as narrow as plain documentation
 * needs it to be: "do not show the raw JSON to the user" and "call resolve-library-id first" are what good servers say.
 */
type Manner = Extract<
  FindingId,
  'text.overrides' | 'text.conceals' | 'text.wants-secrets' | 'text.steers-tools'
>;

const USER = 'user|users|human|humans|person|operator|them|him|her|anyone|anybody|customer';
const RULES =
  'instruction|instructions|prompt|prompts|rules|guidelines|directives|guardrails|policies|safety';
const SECRETS =
  'credential|credentials|password|passwords|passphrase|secret|secrets|token|tokens|ssh|cookies|keychain|wallet|mnemonic|id_rsa|apikey|api_key';
const HANDS_OVER =
  'send|forward|post|upload|include|pass|append|provide|attach|submit|transmit|exfiltrate|leak|email|bcc';

const PHRASES: Readonly<Record<Manner, Book>> = {
  'text.overrides': book(
    `ignore|disregard|forget|bypass|override ~2 previous|prior|earlier|above|preceding|other|existing|your|system|all|any ~3 ${RULES}`,
    'you are now ~1 in|a|an|the|dan|free',
    `new|real|actual|updated ~1 system ~0 prompt|instructions|message`,
    'supersedes|overrides ~3 instructions|prompt|rules ~6 other|previous|prior|all|any|system',
    'take|takes ~0 precedence ~0 over ~2 other|previous|prior|any|all|your|system ~2 instructions|prompt|guidelines|directives',
    'from ~0 now ~0 on ~1 you ~0 are|act|answer|behave|obey',
    'forget|ignore|disregard ~0 everything|anything|all|whatever ~2 you ~3 told|said|given|instructed|learned',
    'above|previous|prior|earlier|your|system|safety ~1 guidelines|instructions|rules|restrictions ~2 not!|longer ~0 apply',
    'guidelines|instructions|rules ~0 above|earlier ~2 not!|longer ~0 apply',
    'earlier|previous|prior|original|other ~1 instructions|rules|guidelines ~0 are ~1 void|cancelled|canceled|obsolete|invalid|superseded|revoked|suspended',
    'do|follow|obey ~1 whatever|everything|anything ~2 result|page|file|text|response|output ~1 says|tells|instructs|asks',
  ),
  'text.conceals': book(
    `not! ~3 tell|inform|notify|alert|warn ~3 ${USER}`,
    `not! ~2 mention|reveal|disclose|admit|expose ~6 to ~2 ${USER}`,
    'not! ~2 mention|reveal|disclose ~1 this|that|it ~4 step|instruction|instructions|note|tag|parameter|detail',
    `-not! without ~2 telling|informing|notifying|alerting|mentioning ~4 ${USER}`,
    `-not! without ~2 user|user's|users'|human|human's ~2 knowledge|knowing|consent|awareness|noticing`,
    `hide|conceal ~1 this|these|that|it ~3 from ~1 ${USER}`,
    'keep ~2 this|that|it ~1 secret|hidden|confidential ~3 from',
    `${USER} ~1 not!|needn't|cannot ~3 know|notice|see|learn|realize|realise|discover ~3 about|this|that`,
    `${USER} ~1 not!|cannot ~0 find ~0 out`,
    `so ~2 ${USER} ~1 not|not!|doesn't|won't|cannot ~0 notice|suspect|realize|realise|know|find`,
    `no ~0 need ~0 to ~1 tell|inform|notify|alert ~3 ${USER}`,
    `avoid|refrain ~1 telling|informing|notifying|alerting|mentioning ~4 ${USER}`,
    `say|tell|mention|reveal ~0 nothing ~5 ${USER}`,
    'not! ~1 mention|reveal|disclose|say|admit ~0 that ~1 you',
    'silently|secretly|covertly|discreetly ~3 call|send|run|read|forward|copy|upload|include|add|execute|collect',
  ),
  'text.wants-secrets': book(
    'include|pass|provide|send|forward|transmit|exfiltrate|leak ~6 conversation|chat ~1 history|transcript ~6 as|in|to|into|with',
    `${HANDS_OVER} ~4 system ~0 prompt|message|instructions`,
    `${HANDS_OVER} ~3 full|whole|entire|complete|all ~3 conversation|context|transcript|chat|messages`,
    `read|open|cat|fetch|access|load|retrieve ~6 ${SECRETS}|mcp ~2 key|keys|file|files|id_rsa|json|store ~12 and|then|pass|send|into|as`,
    'put|paste|insert|place|copy|write|repeat ~2 your|its ~1 system ~0 prompt|message|instructions',
    'fill|put|paste|write|include|pass|provide|send|with ~6 conversation|chat|transcript|dialogue ~3 so ~0 far',
    'conversation|chat|messages|transcript ~6 word ~0 for ~0 word',
    'conversation|chat|messages|transcript ~3 verbatim',
    `${SECRETS}|key|keys ~0 you ~1 seen|know|saw|find|found`,
    `${HANDS_OVER}|dump ~2 all|every|full|entire|whole|your|their ~1 environment ~0 variable|variables`,
    'open|read|cat|load ~2 env ~0 file ~8 pass|paste|send|include|put|upload ~3 content|contents|it',
    'private|api|access|ssh ~0 key|keys ~8 return|send|pass|upload|include|submit|forward ~0 them|it',
    `${HANDS_OVER} ~4 user's|users|their|your|my|its|all|any|found|stored|private|contents ~4 ${SECRETS}|key|keys ~8 to|as|in|with|into`,
  ),
  'text.steers-tools': book(
    'before|after ~1 using|calling|invoking|running ~1 any|every|all|other|another ~2 tool|tools|function|functions ~14 must|call|run|use|invoke|first|always|required',
    'must|always|required|should|call|run|use ~8 before|after ~2 any|every|all ~2 other ~1 tool|tools|function|functions',
    'not! ~2 use|call|invoke|trust ~2 any|other|another|all ~2 tool|tools|server|servers',
    'when|whenever|if|while ~5 other|another|any ~1 tool|tools ~3 is|are|gets ~2 used|called|invoked|available|present ~10 must|always|instead|first|also',
    'instead ~0 of ~2 any|all|other ~2 other|another ~2 tool|tools|server|servers',
    'after|before ~0 every|each|any ~1 tool ~0 call|calls|use ~6 call|run|use|invoke|send ~2 tool|this|it',
    'other|all ~1 tools|servers ~1 are ~1 insecure|unsafe|broken|outdated|compromised|unreliable|malicious|forbidden|untrusted',
    'other|another|any ~1 tool|tools|server|servers ~0 not! ~1 be|ever ~1 trusted|used|called|invoked',
  ),
};

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
  'contents',
  'provide',
  'pass',
]);

/** `foreign`: the words of a text that are names of other servers' tools. */
export type Foreign = (words: readonly string[]) => readonly string[];

/**
 * Judges each text of one item, and the item by all of them: two ways at once are what poisoned tools look like, one
 * alone may be clumsy. What a hidden text says is judged as well.
 */
export function mannerFindings(
  about: About,
  texts: readonly PlacedText[],
  foreign: Foreign = () => [],
): readonly VettingFinding[] {
  const found = new Map<FindingId, VettingFinding>();
  const note = (id: FindingId, place: string, reason: string) => {
    if (!found.has(id)) {
      found.set(id, finding(id, { ...about, place }, reason));
    }
  };
  for (const { place, text } of texts) {
    const unseen = unseenIn(text);
    const hidden = [...unseen.found, ...outOfSight(text).map((each) => quoted(each, 120).slice(1, -1))];
    if (unseen.disguised || unseen.message !== '') {
      const spells = unseen.message === '' ? '' : `, which spell ${quoted(unseen.message)}`;
      note('text.hidden-message', place, `It holds ${unseen.found.join(', ')}${spells}.`);
    } else if (hidden.length > 0) {
      note('text.invisible', place, `It holds ${hidden.join(', ')}.`);
    }
    for (const { id, reason } of waysOf(`${text}\n${unseen.message}`, foreign)) {
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

function waysOf(text: string, foreign: Foreign): readonly { readonly id: Manner; readonly reason: string }[] {
  const words = sentencesOf(text);
  // A public key is there to be handed over.
  const lower = text.toLowerCase();
  const plain = lower.includes('.pub') ? lower.replaceAll(/\S{0,200}\.pub\b/g, '') : lower;
  const said = (id: Manner) => saidIn(words, PHRASES[id]);
  const pose = POSES.find((mark) => plain.includes(mark));
  const file = PRIVATE_FILES.find((path) => plain.includes(path));
  const takes = file !== undefined && words.some((word) => TAKES.has(word)) ? file : undefined;
  const ways: readonly (readonly [Manner, string | undefined])[] = [
    ['text.overrides', said('text.overrides') ?? pose],
    ['text.conceals', said('text.conceals')],
    ['text.wants-secrets', said('text.wants-secrets') ?? takes],
    ['text.steers-tools', said('text.steers-tools') ?? ordersAbout(words, foreign)],
  ];
  return ways.flatMap(([id, what]) =>
    what === undefined ? [] : [{ id, reason: `${SAYS[id]}: ${quoted(what)}.` }],
  );
}

const ORDERS = new Set(['must', 'always', 'not!', 'instead', 'before', 'whenever', 'important', 'when']);

/** Another server's tool, named in a text that gives orders. */
function ordersAbout(words: readonly string[], foreign: Foreign): string | undefined {
  const [name] = foreign(words);
  return name !== undefined && words.some((word) => ORDERS.has(word)) ? name : undefined;
}
