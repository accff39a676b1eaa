import { useId } from 'preact/hooks';
import { type Draft, draftOf, memberOf, type Problem } from './draft.ts';
import type { Field } from './field.ts';
import { Said } from './text.tsx';
import { plain } from './visible.ts';

interface FieldProps {
  readonly name: string;
  readonly field: Field;
  readonly draft: Draft;
  readonly required: boolean;
  /** It is one of a list, where nothing else could be said of it. */
  readonly listed?: boolean;
  readonly change: (draft: Draft) => void;
  /** Where it is, as a JSON pointer, and what is wrong, everywhere. */
  readonly place: string;
  readonly problems: readonly Problem[];
}

/** One field, with the fields in it. */
export function FieldInput(props: FieldProps) {
  const { field } = props;
  return field.kind === 'object' || field.kind === 'list' ? <Group {...props} /> : <Leaf {...props} />;
}

function Leaf(props: FieldProps) {
  const id = useId();
  const { name, field, required, listed, place, problems } = props;
  const problem = problems.find((each) => each.place === place);
  return (
    <div class="field">
      <label for={id}>
        <Said text={field.title ?? name} most={200} />
        {required && listed !== true && <span class="needed"> needed</span>}
      </label>
      <Input {...props} id={id} wrong={problem !== undefined} />
      {field.description !== undefined && (
        <p class="hint" id={`${id}-about`}>
          <Said text={field.description} most={1_000} />
        </p>
      )}
      {problem !== undefined && (
        <p class="wrong" id={`${id}-wrong`}>
          {problem.reason}
        </p>
      )}
    </div>
  );
}

interface InputProps extends FieldProps {
  readonly id: string;
  readonly wrong: boolean;
}

function Input({ id, wrong, field, draft, required, change }: InputProps) {
  const text = typeof draft === 'string' ? draft : '';
  const about = [field.description === undefined ? '' : `${id}-about`, wrong ? `${id}-wrong` : ''];
  const common = {
    id,
    'aria-invalid': wrong,
    'aria-describedby': about.filter((each) => each !== '').join(' ') || undefined,
  };
  switch (field.kind) {
    case 'boolean':
      return required ? (
        <input
          {...common}
          type="checkbox"
          checked={text === 'true'}
          onChange={(event) => change(String(event.currentTarget.checked))}
        />
      ) : (
        <select {...common} value={text} onChange={(event) => change(event.currentTarget.value)}>
          <option value="">left out</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={(event) => change(event.currentTarget.value)}>
          <option value="">{required ? 'choose' : 'left out'}</option>
          {field.options.map(({ label }, at) => (
            <option key={label} value={String(at)}>
              {plain(label)}
            </option>
          ))}
        </select>
      );
    case 'number':
      return (
        <input
          {...common}
          type="text"
          inputMode={field.whole ? 'numeric' : 'decimal'}
          autocomplete="off"
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      );
    case 'text':
    case 'json': {
      const many = field.kind === 'json' || field.long;
      const how = { ...common, value: text, autocomplete: 'off', spellcheck: false } as const;
      return many ? (
        <textarea
          {...how}
          rows={field.kind === 'json' ? 3 : 1}
          class={field.kind === 'json' ? 'code' : ''}
          placeholder={field.kind === 'json' ? 'JSON' : ''}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <input {...how} type="text" onInput={(event) => change(event.currentTarget.value)} />
      );
    }
    default:
      return null;
  }
}

function Group(props: FieldProps) {
  const { name, field, required, listed } = props;
  return (
    <fieldset class="group">
      <legend>
        <Said text={field.title ?? name} most={200} />
        {required && listed !== true && <span class="needed"> needed</span>}
      </legend>
      {field.description !== undefined && (
        <p class="hint">
          <Said text={field.description} most={1_000} />
        </p>
      )}
      {field.kind === 'object' && <Members {...props} field={field} />}
      {field.kind === 'list' && <Items {...props} field={field} />}
    </fieldset>
  );
}

type Of<K extends Field['kind']> = Omit<FieldProps, 'field' | 'name' | 'required' | 'listed'> & {
  readonly field: Extract<Field, { readonly kind: K }>;
};

/** The members of an object, without a frame of their own. */
export function Members({ field, draft, change, place, problems }: Of<'object'>) {
  return (
    <>
      {field.members.map(({ name, field: inner, required }) => (
        <FieldInput
          key={name}
          name={name}
          field={inner}
          required={required}
          draft={memberOf(draft, name)}
          change={(next) => change(Object.fromEntries(withMember(draft, name, next)) as Draft)}
          place={`${place}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`}
          problems={problems}
        />
      ))}
    </>
  );
}

function withMember(draft: Draft, name: string, next: Draft): readonly [string, Draft][] {
  const members = typeof draft === 'object' && !Array.isArray(draft) ? Object.entries(draft) : [];
  return [...members.filter(([each]) => each !== name), [name, next]] as [string, Draft][];
}

function Items({ field, draft, change, place, problems }: Of<'list'>) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  return (
    <>
      {items
        .map((item, at) => ({ item, at, key: `${place}/${at}` }))
        .map(({ item, at, key }) => (
          <div key={key} class="one">
            <FieldInput
              name={`${at + 1}`}
              field={field.item}
              required
              listed
              draft={item}
              change={(next) => change(items.with(at, next))}
              place={key}
              problems={problems}
            />
            <button
              type="button"
              aria-label={`Remove number ${at + 1}`}
              onClick={() => change(items.filter((_, other) => other !== at))}
            >
              Remove
            </button>
          </div>
        ))}
      <button type="button" onClick={() => change([...items, draftOf(field.item, true)])}>
        Add one
      </button>
    </>
  );
}
