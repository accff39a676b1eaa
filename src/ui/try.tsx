import { useMemo, useRef, useState } from 'preact/hooks';
import { isObject, type JsonObject, objectAt } from '../base/json.ts';
import type { Kind } from '../protocol/model.ts';
import { type Api, ApiError, type Explanation } from './api.ts';
import { type Draft, draftOf, type Problem, readDraft, readJson } from './draft.ts';
import { type Field, fieldOf } from './field.ts';
import { FieldInput, Members } from './field-input.tsx';
import { type Request, request } from './mcp.ts';
import { Questions } from './questions.tsx';
import { Outcome, type Run } from './result.tsx';

interface TryProps {
  readonly api: Api;
  readonly explained: Explanation;
  /** As clients are told it. */
  readonly definition: JsonObject;
  readonly kind: Exclude<Kind, 'templates'>;
  /** It is shown as whoever looks sees it. */
  readonly own: boolean;
}

const METHODS = { tools: 'tools/call', prompts: 'prompts/get', resources: 'resources/read' } as const;
const VERBS = { tools: 'Call', prompts: 'Get', resources: 'Read' } as const;
/** Notices of one call that are kept. */
const MOST_NOTICES = 200;

/** A form for the arguments, and what becomes of the call. Calls are made by whoever looks at the page. */
export function Try({ api, explained, definition, kind, own }: TryProps) {
  const schema = useMemo(() => schemaOf(definition, kind), [definition, kind]);
  const field = useMemo(() => fieldOf(schema), [schema]);
  const [draft, setDraft] = useState<Draft>(() => draftOf(field, true));
  const [json, setJson] = useState<string>();
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const { run, start, cancel } = useRun(api);
  const sent = useRef<JsonObject>({});
  const send = (more: JsonObject) => {
    const how = { endpoint: endpointOf(explained), method: METHODS[kind], schema: definition['inputSchema'] };
    void start({ ...how, params: { ...sent.current, ...more } });
  };
  const submit = () => {
    const read = json === undefined ? readDraft(field, draft, true) : readJson(json);
    setProblems(read.problems);
    if (read.problems.length === 0) {
      sent.current =
        kind === 'resources'
          ? { uri: definition['uri'] }
          : { name: definition['name'], arguments: read.value ?? {} };
      send({});
    }
  };
  const type = (next: Draft) => {
    setDraft(next);
    // What was wrong may be right now: the next try says so.
    setProblems([]);
  };
  const toJson = () => setJson(JSON.stringify(readDraft(field, draft, true).value ?? {}, undefined, 2));
  const toForm = () => {
    const { value, problems: wrong } = readJson(json ?? '');
    setDraft(draftOf(field, true, wrong.length === 0 ? value : undefined));
    setJson(undefined);
  };
  const running = run?.state === 'running';
  const result = run?.answer !== undefined && 'result' in run.answer ? run.answer.result : undefined;
  return (
    <section aria-labelledby="try-title" class="try">
      <h3 id="try-title">Try it</h3>
      {!own && <p class="note">This is a real call, made as yourself.</p>}
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            submit();
          }
        }}
      >
        {json === undefined ? (
          <Arguments field={field} draft={draft} change={type} problems={problems} />
        ) : (
          <div class="field">
            <label for="try-json">Arguments as JSON</label>
            <textarea
              id="try-json"
              class="code"
              rows={8}
              spellcheck={false}
              value={json}
              onInput={(event) => {
                setJson(event.currentTarget.value);
                setProblems([]);
              }}
            />
            {problems.map(({ reason }) => (
              <p key={reason} class="wrong">
                {reason}
              </p>
            ))}
          </div>
        )}
        <div class="row actions">
          <button type="submit" class="primary" disabled={running}>
            {VERBS[kind]}
          </button>
          {running && (
            <button type="button" onClick={cancel}>
              Cancel
            </button>
          )}
          {kind !== 'resources' && (
            <button type="button" class="link" onClick={json === undefined ? toJson : toForm}>
              {json === undefined ? 'Arguments as JSON' : 'Arguments as a form'}
            </button>
          )}
        </div>
        {problems.length > 0 && (
          <p class="wrong" role="alert">
            {problems.length === 1
              ? 'One argument is not right.'
              : `${problems.length} arguments are not right.`}
          </p>
        )}
      </form>
      {run !== undefined && <Outcome run={run} />}
      {result?.['resultType'] === 'input_required' && !running && (
        <Questions
          requests={objectAt(result, 'inputRequests') ?? {}}
          answer={(inputResponses) => {
            const state = result['requestState'];
            send({ inputResponses, ...(state === undefined ? {} : { requestState: state }) });
          }}
        />
      )}
    </section>
  );
}

interface ArgumentsProps {
  readonly field: Field;
  readonly draft: Draft;
  readonly change: (draft: Draft) => void;
  readonly problems: readonly Problem[];
}

function Arguments({ field, ...rest }: ArgumentsProps) {
  if (field.kind !== 'object') {
    return <FieldInput name="Arguments" field={field} required={false} place="" {...rest} />;
  }
  return field.members.length === 0 ? (
    <p class="quiet">It takes no arguments.</p>
  ) : (
    <Members field={field} place="" {...rest} />
  );
}

/** One call at a time. */
function useRun(api: Api) {
  const [run, setRun] = useState<Run>();
  const stop = useRef<AbortController | undefined>(undefined);
  const start = async (asked: Pick<Request, 'endpoint' | 'method' | 'params' | 'schema'>) => {
    const controller = new AbortController();
    const { signal } = controller;
    stop.current = controller;
    const began = performance.now();
    let notices: readonly JsonObject[] = [];
    const show = (state: Run['state'], more: Partial<Run> = {}) =>
      setRun({ state, notices, ...more, ...(state === 'running' ? {} : { ms: performance.now() - began }) });
    const heard = (notice: JsonObject) => {
      notices = [...notices, notice].slice(-MOST_NOTICES);
      show('running');
    };
    show('running');
    try {
      const answer = await request(api, { ...asked, signal, heard });
      show('done', { answer });
    } catch (thrown) {
      if (signal.aborted) {
        show('cancelled');
      } else {
        show('failed', {
          fault: thrown instanceof ApiError ? thrown.message : `No answer: ${String(thrown)}`,
        });
      }
    }
  };
  return { run, start, cancel: () => stop.current?.abort() };
}

function endpointOf({ asked: { endpoint, names } }: Explanation): string {
  return names === 'bare' ? endpoint : `${endpoint}?names=${names}`;
}

/** What the arguments have to be like: of prompts all are texts, and resources take none. */
function schemaOf({ inputSchema, arguments: args }: JsonObject, kind: Kind): unknown {
  if (kind === 'tools') {
    return inputSchema;
  }
  const listed = kind === 'prompts' && Array.isArray(args) ? args.filter(isObject) : [];
  return {
    type: 'object',
    properties: Object.fromEntries(
      listed.map(({ name, title, description }) => [String(name), { type: 'string', title, description }]),
    ),
    required: listed.filter(({ required }) => required === true).map(({ name }) => String(name)),
  };
}
