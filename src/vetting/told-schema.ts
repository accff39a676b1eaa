import { isObject, type JsonObject, objectAt } from '../base/json.ts';
import { quoted } from './finding.ts';
import { at } from './schemas.ts';
import { nounOf } from './told-value.ts';

const MOST_ARGUMENTS = 40;
const MOST_CHOICES = 8;
/** So long may the words about one argument get. */
const LONGEST = 100;
const DEEPEST = 3;

/** The arguments that a tool takes, in a line: `path (string, required), count (integer from 1 to 10)`. */
export function toldArguments(schema: JsonObject): string {
  const properties = Object.entries(objectAt(schema, 'properties') ?? {});
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const isNeeded = ([name]: readonly [string, unknown]) => required.includes(name);
  // Those that are needed first: a long list is cut.
  const ordered = [...properties.filter(isNeeded), ...properties.filter((each) => !isNeeded(each))];
  const told = ordered.slice(0, MOST_ARGUMENTS).map(([name, member]) => {
    const words = [kindOf(member, schema), ...(required.includes(name) ? ['required'] : [])].filter(
      (each) => each !== '',
    );
    return `${nameText(name)}${words.length === 0 ? '' : ` (${words.join(', ')})`}`;
  });
  const more = ordered.length - told.length;
  return told.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function nameText(name: string): string {
  return /^[\w.$-]{1,64}$/.test(name) ? name : quoted(name.slice(0, 65), 64);
}

/** What one argument is, in a few words; '' where its schema does not say. A schema may hold itself: depth is bounded. */
function kindOf(given: unknown, root: JsonObject, depth = 0): string {
  const schema = followed(given, root);
  if (!isObject(schema) || depth > DEEPEST) {
    return '';
  }
  const { enum: choices, type, items } = schema;
  if (Array.isArray(choices) && choices.length <= MOST_CHOICES) {
    return shortened(choices.map((each) => nounOf(each, true)).join(' or '));
  }
  if (Object.hasOwn(schema, 'const')) {
    return shortened(nounOf(schema['const'], true));
  }
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const words = types.filter((each) => typeof each === 'string').join(' or ');
  if (words === 'array') {
    const each = kindOf(items, root, depth + 1);
    return each === '' ? words : shortened(`array of ${each}`);
  }
  return words === '' ? alternatives(schema, root, depth) : words + range(schema);
}

function followed(schema: unknown, root: JsonObject): unknown {
  const reference = isObject(schema) ? schema['$ref'] : undefined;
  return typeof reference === 'string' && reference.startsWith('#/') ? at(root, reference.slice(1)) : schema;
}

function alternatives({ anyOf, oneOf }: JsonObject, root: JsonObject, depth: number): string {
  const all = [anyOf, oneOf].find(Array.isArray) ?? [];
  if (all.length > MOST_CHOICES) {
    return '';
  }
  const kinds = new Set(all.map((each) => kindOf(each, root, depth + 1)));
  return shortened([...kinds].filter((each) => each !== '').join(' or '));
}

function range({ minimum, maximum }: JsonObject): string {
  const [from, to] = [minimum, maximum].map((bound) => (typeof bound === 'number' ? bound : undefined));
  return (from === undefined ? '' : ` from ${from}`) + (to === undefined ? '' : ` up to ${to}`);
}

function shortened(words: string): string {
  return words.length <= LONGEST ? words : `${words.slice(0, LONGEST - 1)}…`;
}
