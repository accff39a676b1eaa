/**
 * The one table of what can be found about what servers say of themselves. docs/findings.md is made from it, so the id,
 * the gravity and the advice of a finding are the same wherever it is shown.
 *
 * error: a client or a model is likely to fail or to be misled. warning: somebody should look. notice: good to know.
 */
export type Severity = 'error' | 'warning' | 'notice';

export interface FindingRow {
  readonly severity: Severity;
  /** What it means, as one sentence. */
  readonly says: string;
  readonly advice: string;
}

const ASK = 'Ask the author of the server to mend it';
const OVERRULE = 'or put it right for this gateway in `tools.annotate`.';
const REWORD = 'or give the tool another description in `tools.describe`.';
const LOOK =
  'Read the text as it is in the JSON of `patchbay tools --json`; do not use the server before you know why it says so.';

export const FINDINGS = {
  'hint.missing': {
    severity: 'notice',
    says: 'Tools do not say whether they only read, or do not say whether what they change is lost. Missing is not `false`: clients then assume the worst.',
    advice: `Ask the author of the server to state readOnlyHint and destructiveHint, ${OVERRULE}`,
  },
  'hint.contradiction': {
    severity: 'warning',
    says: 'A tool says that it only reads and that it destroys.',
    advice: `${ASK}, ${OVERRULE}`,
  },
  'hint.name-writes': {
    severity: 'warning',
    says: 'The name of a tool says that it changes something; its readOnlyHint says that it does not. Clients may call it without asking.',
    advice: `Find out which is true. ${ASK}, ${OVERRULE}`,
  },
  'hint.name-reads': {
    severity: 'notice',
    says: 'The name of a tool says that it reads; its hints say that it writes. Clients ask more often than they have to, or the name is wrong.',
    advice: `Find out which is true. ${ASK}, ${OVERRULE}`,
  },
  'name.characters': {
    severity: 'warning',
    says: 'The name of a tool holds other characters than A-Z, a-z, 0-9, "_", "-" and ".", which the specification asks for and many clients insist on.',
    advice: 'Give it another name in `tools.rename`; strict names replace such characters anyway.',
  },
  'name.long': {
    severity: 'warning',
    says: 'The name of a tool has more than 64 characters; several model APIs refuse such a name, and with it the whole request.',
    advice: 'Give it a shorter name in `tools.rename`; strict names are cut anyway.',
  },
  'schema.invalid': {
    severity: 'error',
    says: 'A schema is no valid JSON Schema. Model APIs refuse the whole request for it, with all tools in it.',
    advice: `${ASK}, or leave the tool out with \`tools.deny\`.`,
  },
  'schema.broken-reference': {
    severity: 'error',
    says: 'A schema refers to a part of itself that does not exist. Clients that compile it fail.',
    advice: `${ASK}, or leave the tool out with \`tools.deny\`.`,
  },
  'schema.dialect': {
    severity: 'warning',
    says: 'A schema is of a dialect other than 2020-12, 2019-09 and draft-07: the tool is served, its arguments cannot be checked.',
    advice: `${ASK}: the specification asks for 2020-12.`,
  },
  'schema.pattern-unchecked': {
    severity: 'notice',
    says: 'A pattern needs look-around or back-references, or is very long. Such a pattern can be made to run for hours, so arguments are not checked against it.',
    advice:
      'Nothing breaks. Ask the author of the server for a pattern without them, where the check matters.',
  },
  'schema.accepts-anything': {
    severity: 'notice',
    says: 'A tool names no arguments and accepts any. A model that makes some up is not told.',
    advice: 'Ask the author of the server to add "additionalProperties": false, or to name the arguments.',
  },
  'definition.large': {
    severity: 'notice',
    says: 'A definition takes more than 16 KiB. It goes into the context of the model with every request.',
    advice: 'Leave the tool out with `tools.deny` where it is not needed, or serve it in a view of its own.',
  },
  'description.missing': {
    severity: 'warning',
    says: 'A tool or prompt has no description: a model has to guess from its name what it does.',
    advice: `${ASK}, ${REWORD}`,
  },
  'description.long': {
    severity: 'notice',
    says: 'A description has more than 2048 characters; some clients cut it there.',
    advice: `${ASK}, ${REWORD}`,
  },
  'description.temporary': {
    severity: 'notice',
    says: 'A description speaks of a state that passes. Clients and models read it from a copy taken earlier.',
    advice: `${ASK}, ${REWORD}`,
  },
  'description.alike': {
    severity: 'warning',
    says: "A tool is described as another server's tool is, word for word or nearly. A model cannot tell them apart by anything but the name of the server.",
    advice:
      'Leave one of them out with `tools.deny`, say in `tools.describe` when to take which, or serve them in different views.',
  },
  'text.invisible': {
    severity: 'warning',
    says: 'A text holds characters that people do not see and models do, or hides a part of itself from whoever reads it.',
    advice: `${LOOK}`,
  },
  'text.hidden-message': {
    severity: 'error',
    says: 'A text holds a message written in invisible characters, turns the direction of reading around, or holds terminal escapes.',
    advice: `${LOOK}`,
  },
  'text.overrides': {
    severity: 'warning',
    says: 'A text tells the model to forget its instructions or to act without asking, or poses as somebody else than the server.',
    advice: `${LOOK}`,
  },
  'text.conceals': {
    severity: 'warning',
    says: 'A text tells the model to keep something from the user.',
    advice: `${LOOK}`,
  },
  'text.wants-secrets': {
    severity: 'warning',
    says: 'A text asks the model for what it should not hand over: keys, credentials, other conversations.',
    advice: `${LOOK}`,
  },
  'text.steers-tools': {
    severity: 'warning',
    says: "A text gives orders about other servers' tools, or about all other tools.",
    advice: `${LOOK}`,
  },
  'text.poisoned': {
    severity: 'error',
    says: 'A text does two or more of these: hides, conceals, overrides, asks for secrets, steers other tools. That is how poisoned tools look.',
    advice:
      'Take the server out of the configuration, or leave the tool out with `tools.deny`, until you know why.',
  },
  'instructions.long': {
    severity: 'notice',
    says: 'The instructions of a server have more than 2048 characters; some clients cut them there.',
    advice: 'Switch them off with `instructions: false` of this upstream where they are not needed.',
  },
  'pin.new': {
    severity: 'warning',
    says: 'The server offers something, or has instructions, that patchbay.lock.json does not have.',
    advice: 'Read its definition, then `patchbay pin --approve` it.',
  },
  'pin.grown': {
    severity: 'notice',
    says: 'A definition is not the approved one; whoever relies on the approved one is served as before.',
    advice: 'Read what changed, then `patchbay pin --approve` it.',
  },
  'pin.broken': {
    severity: 'warning',
    says: 'A definition is not the approved one, and means something else to whoever relies on that.',
    advice: 'Read what changed, then `patchbay pin --approve` it.',
  },
  'pin.renamed': {
    severity: 'warning',
    says: 'Something approved has another name now; the definition is the same.',
    advice:
      'Approve it with `patchbay pin --approve`, by either name; `tools.rename` can give it its old name back.',
  },
  'pin.removed': {
    severity: 'warning',
    says: 'The server does not offer something approved any more. Clients may still hold it in an old list.',
    advice: 'Tell whoever uses it, then `patchbay pin --approve` its name to forget it.',
  },
  'pin.unreadable': {
    severity: 'error',
    says: 'The lock file is there and cannot be read: nobody knows what is approved. With `pins.onChange: quarantine` nothing of what can be approved is served.',
    advice:
      'Take it back from version control; or delete it, read what the servers offer, and run `patchbay pin`.',
  },
  'pin.missing': {
    severity: 'error',
    says: 'The configuration asks for quarantine, and there is no lock file: nothing is approved, and nothing of what can be is served.',
    advice:
      'Read what the servers offer, then run `patchbay pin`; or take patchbay.lock.json back from version control.',
  },
} as const satisfies Readonly<Record<string, FindingRow>>;

export type FindingId = keyof typeof FINDINGS;

export const SEVERITIES: readonly Severity[] = ['error', 'warning', 'notice'];
