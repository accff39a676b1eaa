import { isObject, type JsonObject } from '../base/json.ts';
import type { Kind } from '../protocol/model.ts';

/**
 * The members that clients with strict list validation check. A mend returns its value as it is where that is well
 * formed, else what remains of it, else undefined (the member goes). Members not named here are never looked at.
 */
type Mend = (value: unknown) => unknown;

const isText = (value: unknown): boolean => typeof value === 'string';
const text: Mend = (value) => (isText(value) ? value : undefined);
const flag: Mend = (value) => (typeof value === 'boolean' ? value : undefined);
const number: Mend = (value) => (typeof value === 'number' ? value : undefined);
const between =
  (least: number, most: number): Mend =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most ? value : undefined;
const oneOf =
  (...words: readonly string[]): Mend =>
  (value) =>
    words.includes(String(value)) && isText(value) ? value : undefined;

/** ISO 8601 with a zone, as the SDKs want it (spec: server/resources, Annotations). */
const MOMENT =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const moment: Mend = (value) => {
  const [, year, month, day] = isText(value) ? (MOMENT.exec(String(value)) ?? []) : [];
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day) ? value : undefined;
};
const object: Mend = (value) => (isObject(value) ? value : undefined);

const listOf =
  (fits: (element: unknown) => boolean): Mend =>
  (value) => {
    if (!Array.isArray(value)) {
      return undefined;
    }
    return value.every(fits) ? value : value.filter(fits);
  };
/** Of each element what remains of it; where nothing does, it goes. */
const listOfMended =
  (mend: Mend): Mend =>
  (value) => {
    if (!Array.isArray(value)) {
      return undefined;
    }
    const mended: readonly unknown[] = value.map(mend);
    return mended.every((each, at) => each === value[at])
      ? value
      : mended.filter((each) => each !== undefined);
  };
const having =
  (key: string) =>
  (value: unknown): boolean =>
    isObject(value) && isText(value[key]);
const shape =
  (mends: Readonly<Record<string, Mend>>): Mend =>
  (value) =>
    isObject(value) ? mendEach(value, mends).value : undefined;

const only =
  (fits: (value: unknown) => boolean, mend: Mend): Mend =>
  (value) =>
    fits(value) ? mend(value) : undefined;

const ICON = shape({ mimeType: text, sizes: listOf(isText), theme: oneOf('light', 'dark') });
const ARGUMENT = shape({ title: text, description: text, required: flag });
const COMMON = {
  title: text,
  description: text,
  icons: listOfMended(only(having('src'), ICON)),
  _meta: object,
};
const CONTENT = {
  ...COMMON,
  mimeType: text,
  annotations: shape({
    audience: listOfMended(oneOf('user', 'assistant')),
    priority: between(0, 1),
    lastModified: moment,
  }),
};

const MENDS: Readonly<Record<Kind, Readonly<Record<string, Mend>>>> = {
  tools: {
    ...COMMON,
    outputSchema: object,
    execution: shape({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
    annotations: shape({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
  },
  prompts: { ...COMMON, arguments: listOfMended(only(having('name'), ARGUMENT)) },
  resources: { ...CONTENT, size: number },
  templates: CONTENT,
};

export interface MendedMembers {
  /** The same object where nothing had to be done. */
  readonly value: JsonObject;
  /** One sentence for each member that changed. */
  readonly notes: readonly string[];
}

/** The item without optional members of a wrong type (case C-009). */
export function mendMembers(kind: Kind, item: JsonObject): MendedMembers {
  return mendEach(item, MENDS[kind]);
}

function mendEach(value: JsonObject, mends: Readonly<Record<string, Mend>>): MendedMembers {
  const notes: string[] = [];
  const copy: Record<string, unknown> = { ...value };
  for (const [key, mend] of Object.entries(mends)) {
    if (!Object.hasOwn(value, key)) {
      continue;
    }
    const mended = mend(value[key]);
    if (mended === undefined) {
      delete copy[key];
      notes.push(`${key} had a wrong type and was removed`);
    } else if (mended !== value[key]) {
      copy[key] = mended;
      notes.push(`Malformed parts of ${key} were removed`);
    }
  }
  return notes.length === 0 ? { value, notes } : { value: copy, notes };
}
