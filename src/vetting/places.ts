import type { JsonObject } from '../base/json.ts';
import type { Problem } from './run.ts';
import { schemasIn } from './schemas.ts';
import { pathText } from './told-value.ts';

/** Names that a schema gives to members: only those are told in a log, since others are somebody's data. */
export function placesOf(problems: readonly Problem[], schema: JsonObject): readonly string[] {
  const names = new Set<string>();
  for (const { schema: part } of schemasIn(schema)) {
    const { properties, required } = part;
    for (const name of [...Object.keys(properties ?? {}), ...(Array.isArray(required) ? required : [])]) {
      names.add(String(name));
    }
  }
  const places = problems.map(({ path }) =>
    pathText(path.map((step) => (typeof step === 'number' ? 0 : names.has(step) ? step : '*'))),
  );
  return [...new Set(places)].slice(0, 5);
}
