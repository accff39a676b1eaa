import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type CatalogItem, keyOf } from './api.ts';
import { Badge, Said } from './text.tsx';

/** Height of one row in px, as in page.css. */
const ROW = 56;
/** Rows beyond the edges that are there already. */
const BEYOND = 6;
/** Longest description in a row, in characters. */
const LONGEST = 160;

interface CatalogListProps {
  readonly items: readonly CatalogItem[];
  readonly chosen: string | undefined;
  readonly choose: (key: string) => void;
  readonly style: string;
}

/** Any number of items, of which only those in sight are in the document. */
export function CatalogList({ items, chosen, choose, style }: CatalogListProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const { top, height, scrolled } = useWindow(box);
  const at = items.findIndex((item) => keyOf(item) === chosen);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    const item = items[next];
    if (item !== undefined) {
      choose(keyOf(item));
      bringIntoSight(box.current, next);
    }
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at === -1 ? 0 : at - 1),
    PageDown: () => move(at + Math.max(1, Math.floor(height / ROW) - 1)),
    PageUp: () => move(at - Math.max(1, Math.floor(height / ROW) - 1)),
    Home: () => move(0),
    End: () => move(items.length - 1),
  };
  const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const last = Math.min(items.length, Math.ceil((top + height) / ROW) + BEYOND);
  const inSight = items.slice(first, last).map((item, offset) => ({ item, at: first + offset }));
  // What is chosen stays in the document: a screen reader is told of it by its id.
  const chosenItem = at !== -1 && (at < first || at >= last) ? items[at] : undefined;
  const rows = chosenItem === undefined ? inSight : [...inSight, { item: chosenItem, at }];
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      aria-label="Catalog"
      tabIndex={0}
      {...(at === -1 ? {} : { 'aria-activedescendant': `${id}-${at}` })}
      onScroll={scrolled}
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (act !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          act();
        }
      }}
    >
      <div role="presentation" class="rows" style={{ height: `${items.length * ROW}px` }}>
        {rows.map(({ item, at: position }) => (
          <div
            key={keyOf(item)}
            id={`${id}-${position}`}
            class="item"
            role="option"
            aria-selected={position === at}
            aria-setsize={items.length}
            aria-posinset={position + 1}
            style={{ top: `${position * ROW}px` }}
            onClick={() => choose(keyOf(item))}
          >
            <Row item={item} style={style} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Row({ item, style }: { readonly item: CatalogItem; readonly style: string }) {
  const { kind, names, description, title, findings, withheld, hints, lacks, assumed, found } = item;
  const about = title ?? description;
  const grave = findings.filter(({ severity }) => severity !== 'notice').length;
  return (
    <>
      <div class="name">
        <Said text={style === 'strict' ? names.strict : names.dotted} most={LONGEST} />
        {withheld && <Badge tone="odd">withheld</Badge>}
        {lacks.length > 0 && <Badge tone="odd">lacks a scope</Badge>}
        {assumed && <Badge tone="quiet">not read yet</Badge>}
        {found && <Badge tone="quiet">found by search</Badge>}
        {hints?.destructive.value === true && <Badge tone="quiet">destructive</Badge>}
        {grave > 0 && <Badge tone="odd">{grave} found</Badge>}
      </div>
      <div class="about">
        {kind !== 'tools' && <span class="kind">{kind.slice(0, -1)}</span>}
        {about !== null && <Said text={firstLine(about)} most={LONGEST} />}
      </div>
    </>
  );
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

/** What of a box is in sight, in px. */
function useWindow(box: { readonly current: HTMLDivElement | null }) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useLayoutEffect(() => {
    setHeight(box.current?.clientHeight ?? 600);
  }, [box]);
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return undefined;
    }
    const seen = new ResizeObserver(() => setHeight(element.clientHeight));
    seen.observe(element);
    return () => seen.disconnect();
  }, [box]);
  return { top, height, scrolled: () => setTop(box.current?.scrollTop ?? 0) };
}

function bringIntoSight(box: HTMLDivElement | null, at: number): void {
  if (box === null) {
    return;
  }
  const [from, to] = [at * ROW, (at + 1) * ROW];
  if (from < box.scrollTop) {
    box.scrollTop = from;
  } else if (to > box.scrollTop + box.clientHeight) {
    box.scrollTop = to - box.clientHeight;
  }
}
