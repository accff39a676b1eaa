import { isObject, type JsonObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { whole } from '../base/long-text.ts';
import { withoutCredentials } from '../base/secrets.ts';
import type { Entry } from '../catalog/snapshot.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { CompiledSchemas } from './compiled-schemas.ts';
import { Once } from './once.ts';
import { placesOf } from './places.ts';
import type { Problem } from './run.ts';
import { toldArguments } from './told-schema.ts';
import { pathText } from './told-value.ts';

export interface ArgumentCheckOptions {
  readonly schemas: CompiledSchemas;
  readonly upstream: (id: string) => Pick<UpstreamSettings, 'validate'>;
  readonly log: Log;
}

/** What became of the arguments of a call. refusal: the result to answer with; nothing may reach the upstream then. */
export type Judged =
  | { readonly kind: 'passed' | 'warned' }
  | { readonly kind: 'refused'; readonly refusal: JsonObject };

const PASSED: Judged = { kind: 'passed' };
const WARNED: Judged = { kind: 'warned' };

/** Checks arguments against the schema that clients were given, before a call is made. They are never changed. */
export class ArgumentCheck {
  readonly #options: ArgumentCheckOptions;
  readonly #logged = new Once();

  constructor(options: ArgumentCheckOptions) {
    this.#options = options;
  }

  /**
   * Judges `arguments` of a call. Absent is empty (spec: server/tools, Calling Tools), and so is `null`, which some
   * clients write for none. `name`: what the client calls the tool.
   */
  judge(tool: Entry, name: string, given: unknown): Judged {
    const { schemas, upstream } = this.#options;
    const { inputSchema: schema } = tool.item;
    const mode = upstream(tool.upstream).validate.arguments;
    if (mode === 'off' || !isObject(schema)) {
      return PASSED;
    }
    const verdict = schemas.judge(schema, whole(given ?? {}));
    if (verdict.fits === true) {
      return PASSED;
    }
    if (verdict.fits === undefined) {
      this.#log(tool, schema, { reason: verdict.why }, 'arguments cannot be checked, and are passed on');
      return PASSED;
    }
    if (mode === 'warn') {
      const places = placesOf(verdict.problems, schema);
      this.#log(tool, schema, { places }, 'arguments do not fit the schema, and are passed on');
      return WARNED;
    }
    return { kind: 'refused', refusal: refusal(name, schema, verdict.problems) };
  }

  /** Once for each tool and schema. Values of arguments are not told: those are the client's. */
  #log({ upstream, original }: Entry, schema: JsonObject, about: object, what: string): void {
    if (this.#logged.isNew([upstream, original, what, this.#options.schemas.digest(schema)])) {
      this.#options.log.warn({ upstream, tool: original, ...about }, what);
    }
  }
}

/** A result that a model can mend its call by (spec: server/tools, Error Handling). */
function refusal(name: string, schema: JsonObject, problems: readonly Problem[]): JsonObject {
  const names = toldArguments(schema);
  const lines = [
    `The arguments do not fit the input schema of ${name}, so it was not called. Correct them and call it again:`,
    ...problemLines(problems, '(arguments)'),
    names === '' ? 'It names no arguments.' : `Its arguments are: ${names}.`,
  ];
  return { content: [{ type: 'text', text: withoutCredentials(lines.join('\n')) }], isError: true };
}

/** A line for each problem. `whole`: what the value itself is called. */
export function problemLines(problems: readonly Problem[], whole: string): readonly string[] {
  const lines = problems.map(({ path, says }) => `- ${pathText(path) || whole}: ${says}`);
  return lines.length === 0 ? ['- it does not fit'] : [...new Set(lines)];
}
