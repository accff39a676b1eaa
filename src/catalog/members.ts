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
const object: Mend = (value) => (isObject(value) ? value : undefined);

const listOf =
  (fits: (element: unknown) => boolean): Mend =>
  (value) => {
    if (!Array.isArray(value)) {
      return undefined;
    }
    return value.every(fits) ? value : value.filter(fits);
  };
const having =
  (key: string) =>
  (value: unknown): boolean =>
    isObject(value) && isText(value[key]);
const shape =
  (mends: Readonly<Record<string, Mend>>): Mend =>
  (value) =>
    isObject(value) ? mendEach(value, mends).value : undefined;

const COMMON = { title: text, description: text, icons: listOf(having('src')), _meta: object };
const CONTENT = {
  ...COMMON,
  mimeType: text,
  annotations: shape({ audience: listOf(isText), priority: number, lastModified: text }),
};

const MENDS: Readonly<Record<Kind, Readonly<Record<string, Mend>>>> = {
  tools: {
    ...COMMON,
    outputSchema: object,
    execution: object,
    annotations: shape({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
  },
  prompts: { ...COMMON, arguments: listOf(having('name')) },
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
