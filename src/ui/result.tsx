import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import type { Answer } from './mcp.ts';
import { Badge, Block, Json, Said } from './text.tsx';
import { inMs } from './time.ts';

/** Pictures that hold nothing but a picture. */
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** Parts of a result that are shown. */
const MOST_PARTS = 100;

/** What became of a call so far. */
export interface Run {
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  readonly notices: readonly JsonObject[];
  readonly answer?: Answer;
  readonly fault?: string;
  readonly ms?: number;
}

/** What became of a call. */
export function Outcome({ run }: { readonly run: Run }) {
  const { state, notices, answer, fault, ms } = run;
  const result = answer !== undefined && 'result' in answer ? answer.result : undefined;
  const error = answer !== undefined && 'error' in answer ? answer.error : undefined;
  return (
    <div class="outcome">
      <p role="status">
        <OutcomeBadge run={run} />
        {ms !== undefined && <span class="quiet"> {inMs(ms)}</span>}
      </p>
      <Progress notices={notices} running={state === 'running'} />
      {fault !== undefined && <p class="alert">{fault}</p>}
      {error !== undefined && (
        <>
          <p class="alert">
            <Said text={`${String(error['code'])}: ${stringAt(error, 'message') ?? ''}`} most={5_000} />
          </p>
          {error['data'] !== undefined && <Json value={error['data']} label="Data of the error" />}
        </>
      )}
      {result !== undefined && <Result result={result} />}
    </div>
  );
}

function OutcomeBadge({ run: { state, answer } }: { readonly run: Run }) {
  if (state !== 'done' || answer === undefined) {
    return (
      <Badge tone={state === 'failed' ? 'bad' : 'quiet'}>{state === 'running' ? 'running…' : state}</Badge>
    );
  }
  if ('error' in answer) {
    return <Badge tone="bad">error</Badge>;
  }
  if (answer.result['resultType'] === 'input_required') {
    return <Badge tone="odd">waiting for an answer</Badge>;
  }
  return answer.result['isError'] === true ? (
    <Badge tone="bad">tool error</Badge>
  ) : (
    <Badge tone="good">done</Badge>
  );
}

function Progress({
  notices,
  running,
}: {
  readonly notices: readonly JsonObject[];
  readonly running: boolean;
}) {
  const params = (method: string) =>
    notices.filter((each) => each['method'] === method).map((each) => objectAt(each, 'params') ?? {});
  const progress = params('notifications/progress').at(-1);
  const logs = params('notifications/message');
  const [now, total] = [progress?.['progress'], progress?.['total']];
  return (
    <>
      {progress !== undefined && (
        <div class="progress">
          {typeof now === 'number' && (
            <progress
              aria-label="Progress"
              {...(typeof total === 'number' && total > 0
                ? { value: Math.min(now, total), max: total }
                : running
                  ? {}
                  : { value: 1 })}
            />
          )}
          <span>
            {String(now)}
            {typeof total === 'number' && ` of ${total}`}{' '}
            <Said text={stringAt(progress, 'message') ?? ''} most={500} />
          </span>
        </div>
      )}
      {logs.length > 0 && (
        <Block
          label="Log messages"
          text={logs
            .map(
              ({ level, data }) =>
                `${String(level)}: ${typeof data === 'string' ? data : JSON.stringify(data)}`,
            )
            .join('\n')}
        />
      )}
    </>
  );
}

function Result({ result }: { readonly result: JsonObject }) {
  const parts = [result['content'], result['contents']].flatMap((each) => (Array.isArray(each) ? each : []));
  const messages = Array.isArray(result['messages']) ? result['messages'].filter(isObject) : [];
  const shown = [
    ...parts.filter(isObject).map((part) => ({ part, role: undefined })),
    ...messages.map((message) => ({
      part: objectAt(message, 'content') ?? {},
      role: stringAt(message, 'role'),
    })),
  ].slice(0, MOST_PARTS);
  const { structuredContent } = result;
  return (
    <>
      {shown
        .map(({ part, role }, at) => ({ part, role, key: `part ${at}` }))
        .map(({ part, role, key }) => (
          <div key={key}>
            {role !== undefined && (
              <p class="quiet">
                <Said text={role} most={100} />
              </p>
            )}
            <Part part={part} />
          </div>
        ))}
      {structuredContent !== undefined && (
        <details open={shown.length === 0}>
          <summary>Structured content</summary>
          <Json value={structuredContent} label="Structured content" />
        </details>
      )}
      <details
        open={
          shown.length === 0 && structuredContent === undefined && result['resultType'] !== 'input_required'
        }
      >
        <summary>Whole result</summary>
        <Json value={result} label="Whole result" />
      </details>
    </>
  );
}

function Part({ part }: { readonly part: JsonObject }) {
  const text = stringAt(part, 'text') ?? stringAt(objectAt(part, 'resource'), 'text');
  if (text !== undefined) {
    return <Block text={text} label="Text of the result" />;
  }
  const [type, data] = [stringAt(part, 'mimeType'), stringAt(part, 'data') ?? stringAt(part, 'blob')];
  if (type !== undefined && data !== undefined && PICTURES.has(type) && /^[A-Za-z0-9+/=]*$/.test(data)) {
    return <img class="picture" alt="In the result" src={`data:${type};base64,${data}`} />;
  }
  return <Json value={part} label="Part of the result" />;
}
