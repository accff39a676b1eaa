import { useEffect, useMemo, useState } from 'preact/hooks';
import { KINDS } from '../protocol/model.ts';
import { type Api, ApiError, type CatalogItem, keyOf, type Status } from './api.ts';
import { CatalogList } from './catalog-list.tsx';
import { type Gaze, ItemView } from './item.tsx';
import { plain } from './visible.ts';

interface CatalogProps {
  readonly api: Api;
  readonly status: Status;
  /** What to begin with. */
  readonly upstream: string;
  /** Names of principals that were heard of. */
  readonly people: readonly string[];
}

interface Filters {
  readonly words: string;
  readonly kind: string;
  readonly upstream: string;
  readonly only: string;
}

const NOBODY: Gaze = { as: '', view: '', names: '' };

/** The merged catalog, or what of it one user sees at one endpoint. */
export function Catalog({ api, status, upstream, people }: CatalogProps) {
  const [filters, setFilters] = useState<Filters>({ words: '', kind: '', upstream, only: '' });
  const [gaze, setGaze] = useState(NOBODY);
  const { items, fault } = useItems(api, gaze, status.catalog.revision);
  const [chosen, setChosen] = useState<string>();
  const shown = useMemo(() => filtered(items ?? [], filters), [items, filters]);
  const change = (next: Partial<Filters>) => setFilters({ ...filters, ...next });
  const item = shown.find((each) => keyOf(each) === chosen) ?? items?.find((each) => keyOf(each) === chosen);
  return (
    <main class="catalog">
      <section class="side" aria-label="Items">
        <h1 class="unseen">Catalog</h1>
        <search class="filters">
          <input
            type="search"
            aria-label="Search the catalog"
            placeholder="Search names and descriptions"
            value={filters.words}
            onInput={(event) => change({ words: event.currentTarget.value })}
          />
          <div class="row">
            <Choice
              label="Kind"
              value={filters.kind}
              change={(kind) => change({ kind })}
              all="All kinds"
              of={KINDS}
            />
            <Choice
              label="Upstream"
              value={filters.upstream}
              change={(id) => change({ upstream: id })}
              all="All upstreams"
              of={Object.keys(status.upstreams)}
            />
            <Choice
              label="Only"
              value={filters.only}
              change={(only) => change({ only })}
              all="Everything"
              of={['with findings', 'withheld', 'read-only', 'destructive']}
            />
          </div>
        </search>
        <ShowAs gaze={gaze} change={setGaze} status={status} people={people} />
        <p class="count" role="status">
          {fault ?? (items === undefined ? 'Loading…' : countText(shown.length, items.length))}
        </p>
        <CatalogList items={shown} chosen={chosen} choose={setChosen} style={gaze.names} />
      </section>
      <section class="detail" aria-label="Item">
        {item === undefined ? (
          <p class="quiet empty">Choose an item to see where it leads, who may use it, and what it takes.</p>
        ) : (
          <ItemView key={`${keyOf(item)} ${gaze.as} ${gaze.view}`} api={api} item={item} gaze={gaze} />
        )}
      </section>
    </main>
  );
}

function countText(shown: number, all: number): string {
  return shown === all
    ? `${all.toLocaleString()} items`
    : `${shown.toLocaleString()} of ${all.toLocaleString()} items`;
}

/** All items as somebody sees them; read anew where the catalog is another one. */
function useItems(api: Api, gaze: Gaze, revision: string) {
  const [read, setRead] = useState<{ items?: readonly CatalogItem[]; fault?: string }>({});
  const { as, view, names } = gaze;
  // biome: the revision says when to read again.
  useEffect(() => {
    const stop = new AbortController();
    // Typing a name should not ask for each letter.
    const timer = setTimeout(() => {
      api.catalog({ as, view, names }, stop.signal).then(
        (items) => setRead({ items }),
        (thrown: unknown) => {
          if (!stop.signal.aborted) {
            setRead({ fault: thrown instanceof ApiError ? thrown.message : 'The catalog cannot be read.' });
          }
        },
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [api, as, view, names, revision]);
  return read;
}

function filtered(
  items: readonly CatalogItem[],
  { words, kind, upstream, only }: Filters,
): readonly CatalogItem[] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return items.filter(
    (item) =>
      (kind === '' || item.kind === kind) &&
      (upstream === '' || item.upstream === upstream) &&
      isOf(item, only) &&
      (wanted.length === 0 || wanted.every((word) => textOf(item).includes(word))),
  );
}

function isOf({ findings, withheld, hints }: CatalogItem, only: string): boolean {
  switch (only) {
    case 'with findings':
      return findings.length > 0;
    case 'withheld':
      return withheld;
    case 'read-only':
      return hints?.readOnly.value === true;
    case 'destructive':
      return hints?.destructive.value === true;
    default:
      return true;
  }
}

const texts = new WeakMap<CatalogItem, string>();

/** What is searched of an item; made once. */
function textOf(item: CatalogItem): string {
  let text = texts.get(item);
  if (text === undefined) {
    const { names, original, title, description } = item;
    text = [names.dotted, names.strict, original, title, description].join('\n').toLowerCase();
    texts.set(item, text);
  }
  return text;
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly all: string;
  readonly of: readonly string[];
}

function Choice({ label, value, change, all, of }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => change(event.currentTarget.value)}>
      <option value="">{all}</option>
      {of.map((each) => (
        <option key={each} value={each}>
          {plain(each)}
        </option>
      ))}
    </select>
  );
}

interface ShowAsProps {
  readonly gaze: Gaze;
  readonly change: (gaze: Gaze) => void;
  readonly status: Status;
  readonly people: readonly string[];
}

function ShowAs({ gaze, change, status, people }: ShowAsProps) {
  const views = Object.keys(status.views).filter((name) => name !== 'default');
  return (
    <fieldset class="show-as">
      <legend>Show as</legend>
      <div class="row">
        <input
          type="text"
          aria-label="Show as principal"
          placeholder="anybody"
          list="people"
          autocomplete="off"
          spellcheck={false}
          value={gaze.as}
          onInput={(event) => change({ ...gaze, as: event.currentTarget.value.trim() })}
        />
        <datalist id="people">
          {people.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <select
          aria-label="At endpoint"
          value={gaze.view}
          onChange={(event) => change({ ...gaze, view: event.currentTarget.value })}
        >
          <option value="">/mcp</option>
          {[...views, ...Object.keys(status.upstreams)].map((name) => (
            <option key={name} value={name}>
              /mcp/{name}
            </option>
          ))}
        </select>
        <select
          aria-label="Naming style"
          value={gaze.names}
          onChange={(event) => change({ ...gaze, names: event.currentTarget.value })}
        >
          <option value="">its names</option>
          <option value="dotted">dotted</option>
          <option value="strict">strict</option>
        </select>
      </div>
    </fieldset>
  );
}
