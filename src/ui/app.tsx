import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { Api, ApiError, type Status } from './api.ts';
import { Catalog } from './catalog.tsx';
import { heardMore, latencyOf, NOTHING } from './heard.ts';
import { type Heard, Live } from './live.tsx';
import { follow } from './live-feed.ts';
import { SignIn } from './sign-in.tsx';
import { Badge } from './text.tsx';
import { toneOf, Upstreams } from './upstreams.tsx';

const TABS = { upstreams: 'Upstreams', catalog: 'Catalog', live: 'Live' } as const;
type Tab = keyof typeof TABS;

/** Where a token is kept that is to outlive a reload of this tab. */
const KEPT = 'patchbay-token';
/** How often the state is read again where nothing is heard, in ms. */
const AGAIN_MS = 10_000;

/** What somebody came with, and why that is not enough; '' where nothing was tried. */
interface Session {
  readonly token: string | undefined;
  readonly refused: string | undefined;
}

const OUT: Session = { token: undefined, refused: '' };

/** The page: signed in or not. */
export function App() {
  const [session, setSession] = useState<Session>(() => ({
    token: sessionStorage.getItem(KEPT) ?? undefined,
    refused: undefined,
  }));
  const { token, refused } = session;
  const api = useMemo(() => new Api(token), [token]);
  const refuse = useCallback(
    (error: ApiError) => {
      sessionStorage.removeItem(KEPT);
      // Where nothing was tried yet, that there is no key is no news.
      setSession(token === undefined && error.status === 401 ? OUT : { ...OUT, refused: error.message });
    },
    [token],
  );
  if (refused !== undefined) {
    return (
      <SignIn
        refused={refused === '' ? undefined : refused}
        enter={(given, keep) => {
          if (keep) {
            sessionStorage.setItem(KEPT, given);
          }
          setSession({ token: given, refused: undefined });
        }}
      />
    );
  }
  const leave = () => {
    sessionStorage.removeItem(KEPT);
    setSession(OUT);
  };
  return <Entered api={api} refuse={refuse} {...(token === undefined ? {} : { leave })} />;
}

interface EnteredProps {
  readonly api: Api;
  /** Must stay the same function. */
  readonly refuse: (error: ApiError) => void;
  /** Where somebody is signed in. */
  readonly leave?: () => void;
}

function Entered({ api, refuse, ...rest }: EnteredProps) {
  const { status, fault, again } = useStatus(api, refuse);
  return status === undefined ? (
    <p class="quiet empty" role="status">
      {fault ?? 'Loading…'}
    </p>
  ) : (
    <Shell api={api} status={status} again={again} {...rest} />
  );
}

/** The state of the gateway, why it cannot be read, and how to read it again soon. */
function useStatus(api: Api, refuse: (error: ApiError) => void) {
  const [status, setStatus] = useState<Status>();
  const [fault, setFault] = useState<string>();
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const look = async () => {
      try {
        setStatus(await api.status(stop.signal));
        setFault(undefined);
      } catch (thrown) {
        if (stop.signal.aborted) {
          return;
        }
        if (thrown instanceof ApiError && (thrown.status === 401 || thrown.status === 403)) {
          refuse(thrown);
        } else {
          // What was read last stays, and it is tried again.
          setFault(thrown instanceof ApiError ? thrown.message : String(thrown));
        }
      }
    };
    void look();
    const timer = setInterval(() => {
      if (!document.hidden) {
        void look();
      }
    }, AGAIN_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [api, asked, refuse]);
  const again = useCallback(() => setAsked((before) => before + 1), []);
  return { status, fault, again };
}

interface ShellProps {
  readonly api: Api;
  readonly status: Status;
  readonly again: () => void;
  /** Where somebody is signed in. */
  readonly leave?: () => void;
}

function Shell({ api, status, again, leave }: ShellProps) {
  const [tab, go] = useTab();
  const [upstream, setUpstream] = useState('');
  const { heard, connected, clear } = useFeed(api, again);
  const people = useMemo(() => [...new Set(heard.calls.map(({ principal }) => principal))], [heard]);
  const latency = useMemo(() => latencyOf(heard.calls), [heard]);
  return (
    <>
      <header class="top">
        <span class="brand">{status.name}</span>
        <Badge tone={toneOf(status.status)}>{status.status}</Badge>
        <nav aria-label="Pages">
          {(Object.keys(TABS) as Tab[]).map((each) => (
            <a key={each} href={`#${each}`} aria-current={each === tab ? 'page' : undefined}>
              {TABS[each]}
            </a>
          ))}
        </nav>
        {!connected && (
          <span class="quiet" role="status">
            connecting…
          </span>
        )}
        {leave !== undefined && (
          <button type="button" class="link" onClick={leave}>
            Sign out
          </button>
        )}
      </header>
      {tab === 'upstreams' && (
        <Upstreams
          status={status}
          latency={latency}
          openCatalog={(id) => {
            setUpstream(id);
            go('catalog');
          }}
        />
      )}
      {tab === 'catalog' && (
        <Catalog key={upstream} api={api} status={status} upstream={upstream} people={people} />
      )}
      {tab === 'live' && <Live heard={heard} connected={connected} clear={clear} />}
    </>
  );
}

/** The tab that the address names, and how to go to one. */
function useTab(): readonly [Tab, (tab: Tab) => void] {
  const [tab, setTab] = useState(tabNamed);
  useEffect(() => {
    const moved = () => setTab(tabNamed());
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  const go = useCallback((to: Tab) => {
    location.hash = to;
  }, []);
  return [tab, go];
}

function tabNamed(): Tab {
  const name = location.hash.slice(1);
  return Object.hasOwn(TABS, name) ? (name as Tab) : 'upstreams';
}

/** What happens from now on; the state is read again where something has changed. */
function useFeed(api: Api, again: () => void) {
  const [heard, setHeard] = useState<Heard>(NOTHING);
  const [connected, setConnected] = useState(false);
  useEffect(
    () =>
      follow(api, {
        heard: (told) => {
          setHeard((before) => heardMore(before, told));
          if (told.some(({ event }) => event !== 'call')) {
            again();
          }
        },
        connected: setConnected,
      }),
    [api, again],
  );
  return { heard, connected, clear: () => setHeard(NOTHING) };
}
