import { isObject } from '../base/json.ts';
import type { Field } from './field.ts';

/** What stands in a field: '' where nothing does; of a choice the position; of an object and a list what stands in theirs. */
export type Draft = string | readonly Draft[] | { readonly [name: string]: Draft };

/** What a draft says, or why it says nothing. */
export interface Reading {
  /** undefined: it is left out. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
}

export interface Problem {
  /** Where, as a JSON pointer. */
  readonly place: string;
  readonly reason: string;
}

/** What a field starts with: `value`, or what its schema gives. */
export function draftOf(field: Field, required: boolean, value: unknown = field.initial): Draft {
  switch (field.kind) {
    case 'text':
      return value === undefined || value === null
        ? ''
        : typeof value === 'string'
          ? value
          : JSON.stringify(value);
    case 'number':
      return typeof value === 'number' ? String(value) : '';
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : required ? 'false' : '';
    case 'choice': {
      const same = JSON.stringify(value);
      const at = field.options.findIndex((option) => JSON.stringify(option.value) === same);
      return at === -1 ? (required && field.options.length === 1 ? '0' : '') : String(at);
    }
    case 'object': {
      const given = isObject(value) ? value : {};
      const members = field.members.map(({ name, field: inner, required: needed }) => [
        name,
        Object.hasOwn(given, name) ? draftOf(inner, needed, given[name]) : draftOf(inner, needed),
      ]);
      return Object.fromEntries(members) as Draft;
    }
    case 'list':
      return Array.isArray(value) ? value.map((each: unknown) => draftOf(field.item, true, each)) : [];
    case 'json':
      return value === undefined ? '' : JSON.stringify(value, undefined, 2);
  }
}

/** The draft of one member; '' where it has none. */
export function memberOf(draft: Draft, name: string): Draft {
  return isObject(draft) && Object.hasOwn(draft, name) ? (draft[name] as Draft) : '';
}

/** What a draft says. */
export function readDraft(field: Field, draft: Draft, required: boolean, place = ''): Reading {
  if (field.kind === 'object') {
    return readObject(field, draft, required, place);
  }
  if (field.kind === 'list') {
    return readList(field, draft, required, place);
  }
  const text = typeof draft === 'string' ? draft : '';
  if (text === '') {
    return field.kind === 'text' && required
      ? said('')
      : required
        ? wrong(place, 'is needed')
        : said(undefined);
  }
  switch (field.kind) {
    case 'text':
      return said(text);
    case 'boolean':
      return said(text === 'true');
    case 'choice':
      return said(field.options[Number(text)]?.value);
    case 'number': {
      const value = Number(text);
      const fits = text.trim() !== '' && Number.isFinite(value) && (!field.whole || Number.isInteger(value));
      return fits ? said(value) : wrong(place, field.whole ? 'is no whole number' : 'is no number');
    }
    case 'json':
      return readJson(text, place);
  }
}

/** JSON that somebody has typed. */
export function readJson(text: string, place = ''): Reading {
  try {
    return said(JSON.parse(text) as unknown);
  } catch (thrown) {
    return wrong(place, `is no JSON: ${thrown instanceof Error ? thrown.message : ''}`);
  }
}

function readObject(
  field: Extract<Field, { kind: 'object' }>,
  draft: Draft,
  required: boolean,
  place: string,
): Reading {
  if (!required && isBlank(field, draft)) {
    return said(undefined);
  }
  const problems: Problem[] = [];
  const members: [string, unknown][] = [];
  for (const { name, field: inner, required: needed } of field.members) {
    const read = readDraft(inner, memberOf(draft, name), needed, `${place}/${escaped(name)}`);
    problems.push(...read.problems);
    if (read.value !== undefined) {
      members.push([name, read.value]);
    }
  }
  return { value: Object.fromEntries(members), problems };
}

function readList(
  field: Extract<Field, { kind: 'list' }>,
  draft: Draft,
  required: boolean,
  place: string,
): Reading {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  if (items.length === 0 && !required) {
    return said(undefined);
  }
  const read = items.map((item, at) => readDraft(field.item, item, true, `${place}/${at}`));
  return { value: read.map(({ value }) => value), problems: read.flatMap(({ problems }) => problems) };
}

/** Nothing was typed into it. */
function isBlank(field: Field, draft: Draft): boolean {
  if (field.kind === 'object') {
    return field.members.every(({ name, field: inner }) => isBlank(inner, memberOf(draft, name)));
  }
  return draft.length === 0 || (field.kind === 'boolean' && draft === 'false');
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function said(value: unknown): Reading {
  return { value, problems: [] };
}

function wrong(place: string, reason: string): Reading {
  return { value: undefined, problems: [{ place, reason }] };
}
