import { isObject, type JsonObject, objectAt, without } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { type LongText, whole } from '../base/long-text.ts';
import { withoutCredentials } from '../base/secrets.ts';
import type { Entry } from '../catalog/snapshot.ts';
import type { Settings, UpstreamSettings } from '../config/settings.ts';
import type { RpcErrorObject } from '../protocol/json-rpc.ts';
import { problemLines } from './arguments.ts';
import { asJudged } from './blind-values.ts';
import type { CompiledSchemas } from './compiled-schemas.ts';
import { Once } from './once.ts';
import { placesOf } from './places.ts';
import { mapTexts } from './result-texts.ts';
import type { Problem } from './run.ts';
import { lookForCredentials, lookForDetails } from './texts-found.ts';

type Checked = Pick<UpstreamSettings, 'validate'>;

export interface ResultCheckOptions {
  readonly schemas: CompiledSchemas;
  readonly upstream: (id: string) => Checked;
  readonly settings: () => Pick<Settings, 'upstreams'>;
  readonly log: Log;
}

/** What was seen in a result: the words of the request record. */
export type ResultFlag = 'result_invalid' | 'credential_seen' | 'leak_seen';

export interface JudgedResult {
  /** The result as the client gets it; the same object where nothing had to be changed. */
  readonly result: JsonObject;
  readonly flags: readonly ResultFlag[];
}

/** What a result is of. */
export interface ResultOf {
  readonly upstream: string;
  /** Name or template as the server has it, or the method; '' for a resource, whose URI may hold anything (case C-095). */
  readonly original: string;
  /** What was sent: it is no news to whoever sent it. */
  readonly sent?: unknown;
}

type ResultMode = UpstreamSettings['validate']['results'];

/** A call of a tool, and what was to be done with its result when it was made. */
export interface ToolResultOf {
  readonly tool: Entry;
  /** As the client calls it. */
  readonly name: string;
  readonly held: ResultMode;
  /** Its arguments. */
  readonly sent: unknown;
}

/** A server that was taken out of the configuration during the call: nobody knows any more what was asked for it. */
const UNKNOWN: UpstreamSettings['vetting'] = { credentials: 'mask', errorDetails: 'trim' };

/** Errors whose `data` is for programs, such as the URL that a user has to visit (spec: schema, error codes). */
const FOR_PROGRAMS: ReadonlySet<number> = new Set([-32020, -32021, -32022, -32042]);

/** Looks at results on their way to the client: whether they are what was promised, and what they should not hold. */
export class ResultCheck {
  readonly #options: ResultCheckOptions;
  readonly #logged = new Once();

  constructor(options: ResultCheckOptions) {
    this.#options = options;
  }

  /** What is done with results of a tool that are not what it promises. */
  mode({ upstream }: Entry): ResultMode {
    return this.#options.upstream(upstream).validate.results;
  }

  /** A result of a tool: final ones only, since a question or a task promises nothing. */
  tool({ tool, name, held: mode, sent }: ToolResultOf, result: JsonObject): JudgedResult {
    const { resultType } = result;
    if ((resultType !== undefined && resultType !== 'complete') || isTask(result)) {
      return { result, flags: [] };
    }
    const held = this.#held(tool, name, result, mode);
    if (held?.result !== undefined) {
      return { result: held.result, flags: ['result_invalid'] };
    }
    const judged = this.texts({ upstream: tool.upstream, original: tool.original, sent }, result);
    return held === undefined ? judged : { ...judged, flags: ['result_invalid', ...judged.flags] };
  }

  /** Any result: its texts alone. */
  texts(of: ResultOf, given: JsonObject): JudgedResult {
    const { credentials, errorDetails } = this.#options.settings().upstreams[of.upstream]?.vetting ?? UNKNOWN;
    const flags: ResultFlag[] = [];
    // Where nothing of it is changed or cut out, long texts stay unread.
    const reads = credentials === 'mask' || (errorDetails !== 'off' && given['isError'] === true);
    let result = reads ? wholeOf(given) : given;
    if (credentials !== 'off') {
      const { seen, masked } = lookForCredentials(result, credentials === 'mask');
      result = masked;
      if (seen.size > 0) {
        flags.push('credential_seen');
        this.#log(of, [...seen], 'a result holds what looks like a credential');
      }
    }
    if (errorDetails !== 'off' && given['isError'] === true) {
      const { found, trimmed } = lookForDetails(result, of.sent, errorDetails === 'trim');
      result = trimmed;
      if (found.size > 0) {
        flags.push('leak_seen');
        this.#log(of, [...found], 'an error gives away what is inside its server');
      }
    }
    return { result, flags };
  }

  /** A task, or what became of it: where it failed, or its result is an error, every text of it is that of an error. */
  task(of: ResultOf, given: JsonObject): JudgedResult {
    const failed = given['status'] === 'failed' || objectAt(given, 'result')?.['isError'] === true;
    if (!failed) {
      return this.texts(of, given);
    }
    const { result, flags } = this.texts(of, { ...given, isError: true });
    return { result: flags.length === 0 ? given : without(result, 'isError'), flags };
  }

  /** A JSON-RPC error of a server: its message, and the texts of its `data`. The same object where nothing had to be changed. */
  error(
    of: ResultOf,
    given: RpcErrorObject,
  ): { readonly error: RpcErrorObject; readonly flags: JudgedResult['flags'] } {
    const { message, data } = given;
    const isRead = data !== undefined && !FOR_PROGRAMS.has(given.code);
    const texts = { message, ...(isRead ? { data } : {}), isError: true };
    const { result, flags } = this.texts(of, texts);
    return { error: flags.length === 0 ? given : { ...given, ...without(result, 'isError') }, flags };
  }

  /** Undefined: the result is what the schema says, or nobody can tell. With a result: that goes in its place. */
  #held(
    tool: Entry,
    name: string,
    result: JsonObject,
    mode: ResultMode,
  ): { readonly result?: JsonObject } | undefined {
    const { schemas, log } = this.#options;
    const { outputSchema: schema } = tool.item;
    if (mode === 'off' || !isObject(schema) || result['isError'] === true) {
      return undefined;
    }
    const problems = problemsOf(schema, result, schemas);
    if (problems.length === 0) {
      return undefined;
    }
    if (this.#logged.isNew([tool.upstream, tool.original, schemas.digest(schema)])) {
      const about = { upstream: tool.upstream, tool: tool.original, places: placesOf(problems, schema) };
      log.warn(about, 'results do not fit the output schema of their tool');
    }
    return mode === 'warn' ? {} : { result: refusal(name, problems) };
  }

  #log({ upstream, original }: ResultOf, found: readonly string[], what: string): void {
    const news = found.filter((each) => this.#logged.isNew([upstream, original, what, each]));
    if (news.length > 0) {
      this.#options.log.warn({ upstream, item: original, found: news }, what);
    }
  }
}

/** The result with its long texts decoded where they are looked at; everything else in it goes on as it came. */
function wholeOf(result: JsonObject): JsonObject {
  const visitor = { change: (text: string) => text, unread: ({ text }: LongText) => text };
  return mapTexts(result, visitor) as JsonObject; // whatever is in it, an object stays one
}

/** A legacy server has made a task of the call (2025-11-25: basic/utilities/tasks). */
function isTask(result: JsonObject): boolean {
  return isObject(result['task']) && result['content'] === undefined;
}

function problemsOf(schema: JsonObject, result: JsonObject, schemas: CompiledSchemas): readonly Problem[] {
  const content = asJudged(schema, result['structuredContent']);
  if (content === undefined) {
    return [{ path: [], kind: 'missing', says: 'promised by the output schema, but missing' }];
  }
  const blind = schemas.judge(schema, content);
  if (blind.fits !== false) {
    return [];
  }
  // What is said of a long text that nobody has read has to be said of that text.
  const given = result['structuredContent'];
  const read = content === given ? blind : schemas.judge(schema, whole(given));
  const verdict = read.fits === false ? read : blind;
  return verdict.problems.length > 0
    ? verdict.problems
    : [{ path: [], kind: 'value', says: 'it does not fit' }];
}

function refusal(name: string, problems: readonly Problem[]): JsonObject {
  const lines = [
    `${name} was called, and its result is held back: it does not fit the output schema that its server publishes. To call it again does not help.`,
    ...problemLines(problems, 'structuredContent'),
  ];
  return { content: [{ type: 'text', text: withoutCredentials(lines.join('\n')) }], isError: true };
}
