import type { JsonObject } from '../base/json.ts';

/** Dialects that arguments and results can be checked in (design, Settled questions). */
export type Dialect = '2020-12' | '2019-09' | 'draft-07';

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'json-schema.org/draft/2020-12/schema': '2020-12',
  'json-schema.org/draft/2019-09/schema': '2019-09',
  'json-schema.org/draft-07/schema': 'draft-07',
};

/** The dialect that a schema names, 2020-12 where it names none (spec: basic/index, JSON Schema Usage). */
export function dialectOf({ $schema: named }: JsonObject): Dialect | undefined {
  if (typeof named !== 'string') {
    return '2020-12';
  }
  const name = named.replace(/^https?:\/\//, '').replace(/#$/, '');
  return Object.hasOwn(DIALECTS, name) ? DIALECTS[name] : undefined;
}
