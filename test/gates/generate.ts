/**
 * Writes what is made from the declaration of the settings: `config/gateway.schema.json` and `docs/config.md`.
 * Run it after a change of a setting: `node test/gates/generate.ts`. A gate test proves both current.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import Type, { type TObject, type TSchema } from 'typebox';
import { rulesOf } from '../../src/config/judge.ts';
import { SETTINGS } from '../../src/config/settings.ts';

type Json = Record<string, unknown>;

const REFERENCE = '\\$\\{';
const OURS = ['unit', 'derived', 'format', 'required', 'perUser', 'restart'];

/** The JSON Schema that editors use. Draft 7 is what YAML language servers support best. */
function schemaFile(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...publish(SETTINGS, ''),
    title: 'Patchbay',
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** A declaration as an editor should see it: `x-` keys are fine, and so is a reference wherever a single value belongs. */
function publish(schema: TSchema, path: string): Json {
  const own: Json = Object.fromEntries(Object.entries(schema).filter(([key]) => !OURS.includes(key)));
  const named = path === '' ? own : { title: path, ...own };
  if (Type.IsUnion(schema)) {
    return { ...named, anyOf: schema.anyOf.map((kind) => publish(kind, path)) };
  }
  if (Type.IsObject(schema)) {
    const children = Object.entries<TSchema>(schema.properties);
    const required = children.filter(([, child]) => isMandatory(child)).map(([key]) => key);
    const properties = children.map(([key, child]) => [key, publish(child, under(path, key))]);
    return {
      ...named,
      ...(required.length === 0 ? {} : { required }),
      properties: Object.fromEntries(properties),
      patternProperties: { '^x-': true },
    };
  }
  if (Type.IsRecord(schema)) {
    const item = Type.RecordValue(schema);
    const extensions = Type.IsUnion(item) ? { '^x-': true } : {};
    const values = publish(item, under(path, '*'));
    return { ...named, patternProperties: { [Type.RecordPattern(schema)]: values, ...extensions } };
  }
  return Type.IsArray(schema)
    ? { ...named, items: publish(schema.items, under(path, '*')) }
    : publishSingle(schema, named);
}

function publishSingle(schema: TSchema, named: Json): Json {
  const { pattern, enum: choices, type, derived, description = '' } = rulesOf(schema);
  const about =
    derived === undefined ? named : { ...named, description: `${description} Default: ${derived}.` };
  if (choices !== undefined) {
    const { enum: _, ...rest } = about;
    return { ...rest, anyOf: [{ enum: choices }, { pattern: REFERENCE }] };
  }
  if (pattern !== undefined) {
    return { ...about, pattern: `${REFERENCE}|${pattern}` };
  }
  return type === 'integer' || type === 'boolean'
    ? { ...about, type: [type, 'string'], pattern: REFERENCE }
    : about;
}

function isMandatory(schema: TSchema): boolean {
  const rules = rulesOf(schema);
  return !Type.IsOptional(schema) && rules.default === undefined && rules.derived === undefined;
}

const under = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** The reference page: fixed words around tables made from the declaration. */
function docPage(): string {
  const page = readFileSync(new URL('config-page.md', import.meta.url), 'utf8');
  return page.replace('<!-- keys -->', () => keyTables().trim());
}

function keyTables(): string {
  const children = Object.entries<TSchema>(SETTINGS.properties);
  const single = children.filter(([key, child]) => key !== 'upstreams' && inner(child) === undefined);
  const sections = children.flatMap(([key, child]) => {
    const inside = key === 'upstreams' ? undefined : inner(child);
    return inside === undefined
      ? []
      : [`## \`${key}\`\n\n${rulesOf(child).description}\n\n${table(rows(inside.section, inside.mark))}`];
  });
  return [`## At the top\n\n${table(single.map(row))}`, ...sections, upstreamTables()].join('\n');
}

function upstreamTables(): string {
  const { upstreams } = SETTINGS.properties;
  const kinds = Type.RecordValue(upstreams).anyOf.map((kind) => ({
    mark: Object.keys(kind.properties)[0],
    about: rulesOf(kind).description,
    rows: rows(kind),
  }));
  const shared = kinds[0]?.rows.filter((each) => kinds.every((kind) => kind.rows.includes(each))) ?? [];
  const parts = kinds.map(({ mark, about, rows }) => {
    const own = rows.filter((each) => !shared.includes(each));
    return `### With \`${mark}\`\n\n${about}\n\n${table(own)}`;
  });
  const intro = `## \`upstreams\`\n\n${rulesOf(upstreams).description}\n`;
  return [intro, ...parts, `### With either\n\n${table(shared)}`].join('\n');
}

function rows(section: TObject, before = ''): string[] {
  return Object.entries<TSchema>(section.properties).flatMap(([key, child]) => {
    const inside = inner(child);
    if (inside === undefined) {
      return [row([`${before}${key}`, child])];
    }
    const own =
      inside.mark === '' || rulesOf(child).description === undefined ? [] : [row([`${before}${key}`, child])];
    const dot = inside.mark === '' ? '.' : '';
    return [...own, ...rows(inside.section, `${before}${key}${dot}${inside.mark}`)];
  });
}

/** The section that a value is made of, and how its keys are written: `[].` in a list, `.<name>.` under names. */
function inner(schema: TSchema): { readonly section: TObject; readonly mark: string } | undefined {
  if (Type.IsObject(schema)) {
    return { section: schema, mark: '' };
  }
  if (Type.IsArray(schema) && Type.IsObject(schema.items)) {
    return { section: schema.items, mark: '[].' };
  }
  const value: TSchema | undefined = Type.IsRecord(schema) ? Type.RecordValue(schema) : undefined;
  return value !== undefined && Type.IsObject(value) ? { section: value, mark: '.<name>.' } : undefined;
}

function row([key, schema]: readonly [string, TSchema]): string {
  const { description = '', restart } = rulesOf(schema);
  const meaning = restart === true ? `${description} Needs a restart.` : description;
  const cells = [`\`${key}\``, typeText(schema), defaultText(schema), meaning];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const table = (lines: readonly string[]): string =>
  `| Key | Type | Default | Meaning |\n| --- | --- | --- | --- |\n${lines.join('\n')}\n`;

function typeText(schema: TSchema): string {
  const { unit, enum: choices, minimum, maximum } = rulesOf(schema);
  if (unit !== undefined) {
    return unit;
  }
  if (choices !== undefined) {
    return choices.map((choice) => `\`${choice}\``).join(', ');
  }
  if (inner(schema) !== undefined) {
    return Type.IsArray(schema) ? 'list of mappings' : 'mapping of mappings';
  }
  if (Type.IsInteger(schema)) {
    return maximum === undefined ? `number from ${minimum}` : `number from ${minimum} to ${maximum}`;
  }
  if (Type.IsArray(schema)) {
    const words: TSchema = schema.items;
    return rulesOf(words).enum === undefined ? 'list of texts' : `list of ${typeText(words)}`;
  }
  if (Type.IsRecord(schema)) {
    return 'mapping of texts';
  }
  return Type.IsBoolean(schema) ? '`true`, `false`' : 'text';
}

function defaultText(schema: TSchema): string {
  const { default: value, derived } = rulesOf(schema);
  if (derived !== undefined) {
    return derived;
  }
  if (value === undefined) {
    return Type.IsOptional(schema) ? 'none' : '**required**';
  }
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

/** Path from the root of the repository, and content. */
export const GENERATED: readonly (readonly [string, () => string])[] = [
  ['config/gateway.schema.json', schemaFile],
  ['docs/config.md', docPage],
];

export const inRepository = (path: string): URL => new URL(`../../${path}`, import.meta.url);

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, make] of GENERATED) {
    writeFileSync(inRepository(path), make());
  }
}
