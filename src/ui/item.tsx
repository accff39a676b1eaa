import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isObject, type JsonObject } from '../base/json.ts';
import { type Api, ApiError, type CatalogItem, type Explanation } from './api.ts';
import { Badge, Fact, Json, Said } from './text.tsx';
import { ago, inMs } from './time.ts';
import { Try } from './try.tsx';
import { toneOf } from './upstreams.tsx';

/** Who looks, where, and in which style of names; '' as it comes. */
export interface Gaze {
  readonly as: string;
  readonly view: string;
  readonly names: string;
}

interface ItemViewProps {
  readonly api: Api;
  readonly item: CatalogItem;
  readonly gaze: Gaze;
}

/** All that is known of one item. */
export function ItemView({ api, item, gaze }: ItemViewProps) {
  const { explained, fault } = useExplanation(api, item, gaze);
  const { names, title, description, findings, kind } = item;
  const definition = explained?.definition ?? undefined;
  return (
    <article>
      <header>
        <h2>
          <Said text={names.dotted} most={500} />
        </h2>
        {title !== null && (
          <p class="title">
            <Said text={title} most={500} />
          </p>
        )}
        {explained !== undefined && (
          <p class="verdict">
            <Badge tone={explained.verdict === 'usable' ? 'good' : 'odd'}>{explained.verdict}</Badge>{' '}
            <Said text={explained.says} most={2_000} />
          </p>
        )}
        {fault !== undefined && <p class="alert">{fault}</p>}
      </header>
      {description !== null && description !== '' && (
        <div class="description">
          <Said text={description} most={10_000} />
        </div>
      )}
      {findings.length > 0 && (
        <ul class="findings">
          {findings.map((finding) => (
            <li key={`${finding.id} ${finding.reason}`}>
              <Badge tone={toneOf(finding.severity)}>{finding.severity}</Badge>{' '}
              <Said text={finding.reason} most={1_000} /> <code class="quiet">{finding.id}</code>
            </li>
          ))}
        </ul>
      )}
      {definition !== undefined && kind !== 'templates' && explained !== undefined && (
        <Try api={api} explained={explained} definition={definition} kind={kind} own={gaze.as === ''} />
      )}
      {explained !== undefined && <Why explained={explained} item={item} />}
      {definition !== undefined && <Schemas definition={definition} />}
    </article>
  );
}

function useExplanation(api: Api, { names, kind, original }: CatalogItem, { as, view, names: style }: Gaze) {
  const [read, setRead] = useState<{ explained?: Explanation; fault?: string }>({});
  const name =
    kind === 'tools' || kind === 'prompts' ? (style === 'strict' ? names.strict : names.dotted) : original;
  useEffect(() => {
    const stop = new AbortController();
    api.explain({ name, kind, as, view, names: style }, stop.signal).then(
      (explained) => setRead({ explained }),
      (thrown: unknown) => {
        if (!stop.signal.aborted) {
          setRead({ fault: thrown instanceof ApiError ? thrown.message : 'It cannot be explained.' });
        }
      },
    );
    return () => stop.abort();
  }, [api, name, kind, as, view, style]);
  return read;
}

/** Where it leads, who may use it, and why. */
function Why({ explained, item }: { readonly explained: Explanation; readonly item: CatalogItem }) {
  const { upstream, list, access, configured } = explained;
  return (
    <section aria-labelledby="why-title">
      <h3 id="why-title">Where it leads</h3>
      <dl class="facts">
        <Fact term="Upstream">
          {item.upstream}
          {upstream !== null && `, ${upstream.state}, ${upstream.era ?? 'no era yet'}`}
        </Fact>
        <Name term="There" name={item.original} />
        <Name term="Dotted" name={item.names.dotted} />
        <Name term="Strict" name={item.names.strict} />
        {access !== null && (
          <Fact term="Access">
            <AccessSaid access={access} />
          </Fact>
        )}
        {item.needs.length > 0 && <Fact term="Scopes">{item.needs.join(', ')}</Fact>}
        {item.hints !== null && (
          <Fact term="Hints">
            <Hints hints={item.hints} />
          </Fact>
        )}
        {list?.readAt !== undefined && (
          <Fact term="List">
            {`${list.whose === 'everybody' ? 'everybody’s' : list.whose}, read ${ago(list.readAt)} ago${list.stale ? ', stale' : ''}`}
          </Fact>
        )}
        {upstream !== null && (
          <Fact term="Timeouts">{`call ${inMs(upstream.timeouts.call)}, total ${inMs(upstream.timeouts.total)}`}</Fact>
        )}
        {configured !== null && configured.renamed !== null && (
          <Fact term="Renamed">{configured.renamed}</Fact>
        )}
      </dl>
    </section>
  );
}

function Name({ term, name }: { readonly term: string; readonly name: string }) {
  return (
    <Fact term={term}>
      <code>
        <Said text={name} most={500} />
      </code>
    </Fact>
  );
}

function AccessSaid({ access }: { readonly access: NonNullable<Explanation['access']> }) {
  const { rule, rules, allowed, about } = access;
  if (rules === 0) {
    return <>there are no rules: everybody may</>;
  }
  // Nobody in particular: every rule that names it, and whom it is for.
  if (rule === null && about.length > 0) {
    return (
      <ul class="plain">
        {about.map((each) => (
          <li key={each.number}>
            {ruleText(each)} {each.allowed ? 'allows' : 'denies'} {whoText(each.who)}
          </li>
        ))}
      </ul>
    );
  }
  return (
    <>{`${allowed ? 'allowed' : 'not allowed'}: ${rule === null ? 'no rule names it' : `by ${ruleText(rule)}`}`}</>
  );
}

function whoText({
  anyone,
  ids,
  groups,
  scopes,
}: NonNullable<Explanation['access']>['about'][number]['who']): string {
  const said = Object.entries({ ids, groups, scopes }).filter(([, names]) => names.length > 0);
  return anyone ? 'anyone' : said.map(([what, names]) => `${what} ${names.join(', ')}`).join('; ');
}

function ruleText({ number, line }: { readonly number: number; readonly line: number | null }): string {
  return `rule ${number}${line === null ? '' : ` (line ${line})`}`;
}

const HINTS = { readOnly: 'read-only', destructive: 'destructive', openWorld: 'open world' } as const;

function Hints({ hints }: { readonly hints: NonNullable<CatalogItem['hints']> }) {
  const said = (Object.keys(HINTS) as (keyof typeof HINTS)[]).map((name): ComponentChildren => {
    const { value, from } = hints[name];
    const words =
      from === 'unheard' ? 'its server is not trusted' : from === 'nobody' ? 'not said' : `by ${from}`;
    return (
      <li key={name}>
        {HINTS[name]}: {value === true ? 'yes' : value === false ? 'no' : 'unknown'}{' '}
        <span class="quiet">({words})</span>
      </li>
    );
  });
  return <ul class="plain">{said}</ul>;
}

/** The definition, as clients are told it. */
function Schemas({ definition }: { readonly definition: JsonObject }) {
  const { inputSchema, outputSchema } = definition;
  const schemas = [
    ['Input schema', inputSchema],
    ['Output schema', outputSchema],
    ['Whole definition', definition],
  ] as const;
  return (
    <section aria-label="Schemas">
      {schemas.map(
        ([title, value]) =>
          isObject(value) && (
            <details key={title}>
              <summary>{title}</summary>
              <Json value={value} label={title} />
            </details>
          ),
      )}
    </section>
  );
}
