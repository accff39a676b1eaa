import { useMemo, useState } from 'preact/hooks';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import { type Draft, draftOf, type Problem, readDraft } from './draft.ts';
import { fieldOf } from './field.ts';
import { FieldInput, Members } from './field-input.tsx';
import { Json, Said } from './text.tsx';

interface QuestionsProps {
  /** By the server's keys (2026-07-28: basic/patterns/mrtr). */
  readonly requests: JsonObject;
  readonly answer: (responses: JsonObject) => void;
}

/** What a server wants to know before it goes on. The call goes on when all of it is answered. */
export function Questions({ requests, answer }: QuestionsProps) {
  const [given, setGiven] = useState<JsonObject>({});
  const open = Object.entries(requests).filter(([key]) => !Object.hasOwn(given, key));
  const take = (key: string, response: JsonObject) => {
    const all = Object.fromEntries([...Object.entries(given), [key, response]]);
    setGiven(all);
    if (Object.keys(requests).every((each) => Object.hasOwn(all, each))) {
      answer(all);
    }
  };
  return (
    <section aria-label="Questions of the server" class="questions">
      {Object.keys(requests).length === 0 && (
        <button type="button" class="primary" onClick={() => answer({})}>
          Go on
        </button>
      )}
      {open.map(([key, asked]) => (
        <Question key={key} asked={isObject(asked) ? asked : {}} answer={(response) => take(key, response)} />
      ))}
    </section>
  );
}

interface QuestionProps {
  readonly asked: JsonObject;
  readonly answer: (response: JsonObject) => void;
}

function Question({ asked, answer }: QuestionProps) {
  const params = objectAt(asked, 'params') ?? {};
  const isForm = asked['method'] === 'elicitation/create' && params['mode'] !== 'url';
  const field = useMemo(() => fieldOf(isForm ? params['requestedSchema'] : {}), [isForm, params]);
  const [draft, setDraft] = useState<Draft>(() => draftOf(field, true));
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const url = stringAt(params, 'url');
  const accept = () => {
    const read = readDraft(field, draft, true);
    setProblems(isForm ? read.problems : []);
    if (!isForm || read.problems.length === 0) {
      answer(isForm ? { action: 'accept', content: read.value } : { action: 'accept' });
    }
  };
  return (
    <form
      class="question"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <p>
        <strong>The server asks: </strong>
        <Said text={stringAt(params, 'message') ?? String(asked['method'])} most={2_000} />
      </p>
      {url !== undefined && (
        <p class="code">
          <Said text={url} most={2_000} />
        </p>
      )}
      {asked['method'] !== 'elicitation/create' && <Json value={asked} label="Request of the server" />}
      {isForm && field.kind === 'object' && (
        <Members field={field} draft={draft} change={setDraft} place="" problems={problems} />
      )}
      {isForm && field.kind !== 'object' && (
        <FieldInput
          name="Answer"
          field={field}
          required
          draft={draft}
          change={setDraft}
          place=""
          problems={problems}
        />
      )}
      <div class="row actions">
        <button type="submit" class="primary">
          Accept
        </button>
        <button type="button" onClick={() => answer({ action: 'decline' })}>
          Decline
        </button>
        <button type="button" onClick={() => answer({ action: 'cancel' })}>
          Dismiss
        </button>
      </div>
    </form>
  );
}
