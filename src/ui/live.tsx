import { useState } from 'preact/hooks';
import type { Told } from './live-feed.ts';
import { Badge, Said } from './text.tsx';
import { clock, inMs } from './time.ts';
import { toneOf } from './upstreams.tsx';

export type Call = Extract<Told, { event: 'call' }>;
export type Change = Exclude<Told, { event: 'call' | 'begin' }>;

/** What the page keeps of what it heard; the newest first. */
export interface Heard {
  readonly calls: readonly Numbered<Call>[];
  readonly changes: readonly Numbered<Change>[];
}

/** Each has a number of its own on this page. */
export type Numbered<T> = T & { readonly number: number };

const TONE: Readonly<Record<string, string>> = { ok: 'good', input_required: 'odd', cancelled: 'quiet' };
/** Rows that are in the document. */
const MOST_ROWS = 200;

interface LiveProps {
  readonly heard: Heard;
  readonly connected: boolean;
  readonly clear: () => void;
}

/** Requests of clients as they end, and changes as they come. */
export function Live({ heard, connected, clear }: LiveProps) {
  const [words, setWords] = useState('');
  const [held, setHeld] = useState<Heard>();
  const { calls, changes } = held ?? heard;
  const wanted = words.toLowerCase();
  const shown = calls.filter((call) => textOf(call).includes(wanted)).slice(0, MOST_ROWS);
  return (
    <main class="page live">
      <h1 class="unseen">Live</h1>
      <div class="row bar">
        <input
          type="search"
          aria-label="Filter the calls"
          placeholder="Filter: name, upstream, user, outcome"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <button
          type="button"
          aria-pressed={held !== undefined}
          onClick={() => setHeld(held ? undefined : heard)}
        >
          {held ? 'Go on' : 'Hold'}
        </button>
        <button
          type="button"
          onClick={() => {
            clear();
            setHeld(undefined);
          }}
        >
          Clear
        </button>
        <span class="quiet" role="status">
          {connected ? (held ? 'held' : 'listening') : 'not connected'}
        </span>
      </div>
      <div class="columns">
        <section aria-labelledby="calls-title">
          <h2 id="calls-title">Requests</h2>
          <div class="scroll" role="region" aria-labelledby="calls-title" tabIndex={0}>
            <Calls calls={shown} />
          </div>
          {shown.length === 0 && <p class="quiet">Requests of clients are listed here as they end.</p>}
        </section>
        <section aria-labelledby="changes-title">
          <h2 id="changes-title">Changes</h2>
          <ul class="changes">
            {changes.slice(0, MOST_ROWS).map((change) => (
              <li key={change.number}>
                <time dateTime={change.at}>{clock(change.at)}</time> <ChangeText change={change} />
              </li>
            ))}
          </ul>
          {changes.length === 0 && <p class="quiet">None since this page was opened.</p>}
        </section>
      </div>
    </main>
  );
}

function Calls({ calls }: { readonly calls: readonly Numbered<Call>[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Request</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number">
            Upstream
          </th>
          <th scope="col">User</th>
          <th scope="col">Client</th>
        </tr>
      </thead>
      <tbody>
        {calls.map((call) => (
          <tr key={call.number}>
            <td class="quiet">{clock(call.at)}</td>
            <td>
              <span class="code">
                <Said text={call.name ?? call.method} most={200} />
              </span>
              {call.name !== undefined && <div class="quiet">{call.method}</div>}
            </td>
            <td>
              <Badge tone={TONE[call.outcome] ?? 'bad'}>
                {call.code ?? call.outcome.replaceAll('_', ' ')}
              </Badge>
              {call.flags?.map((flag) => (
                <Badge key={flag} tone="quiet">
                  {flag.replaceAll('_', ' ')}
                </Badge>
              ))}
            </td>
            <td class="number">{inMs(call.ms)}</td>
            <td class="number">{call.upstreamMs === undefined ? '–' : inMs(call.upstreamMs)}</td>
            <td>
              <Said text={call.principal} most={100} />
            </td>
            <td class="quiet">
              <Said text={call.client} most={100} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function textOf({ name, method, upstream, original, principal, outcome, code, client }: Call): string {
  return [name, method, upstream, original, principal, outcome, code, client].join(' ').toLowerCase();
}

function ChangeText({ change }: { readonly change: Change }) {
  switch (change.event) {
    case 'upstream':
      return (
        <>
          <strong>{change.id}</strong> <Badge tone={toneOf(change.state)}>{change.state}</Badge>
          {change.lastError !== undefined && (
            <div class="fault">
              <Said text={change.lastError} most={300} />
            </div>
          )}
        </>
      );
    case 'catalog':
      return (
        <>
          {change.changes.join(', ')} of <strong>{change.upstreams.join(', ') || 'the catalog'}</strong>
        </>
      );
    case 'gone':
      return (
        <>
          <strong>{change.id}</strong> is no longer there
        </>
      );
    case 'skipped':
      return <>{change.calls.toLocaleString()} requests came too fast to be listed</>;
  }
}
