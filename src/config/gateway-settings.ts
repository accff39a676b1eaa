import Type from 'typebox';
import { duration, flag, HTTP_URL, list, NOT_EMPTY, oneOf, section, size, text, whole } from './declare.ts';

/** The sections about the gateway itself. */

export const listen = section(
  { default: {}, description: 'Where clients reach the gateway.' },
  {
    host: text({
      ...NOT_EMPTY,
      default: '127.0.0.1',
      restart: true,
      description:
        'Address to listen on. Loopback by default: nobody else can reach a gateway that asks for no credentials.',
    }),
    port: whole({
      minimum: 0,
      maximum: 65_535,
      default: 3333,
      restart: true,
      description: 'Port to listen on; 0 takes any free one.',
    }),
    publicUrl: Type.Optional(
      text({
        ...HTTP_URL,
        description:
          'URL under which clients see the gateway, where that is not `http://host:port`, as behind a reverse proxy. Its host and origin are accepted.',
      }),
    ),
    allowedHosts: list(
      {
        description:
          'Further names accepted in the `Host` header: with a port for that port only, without one for any; `*` accepts every name. Loopback names and the host of `publicUrl` are accepted anyway, and so are IP addresses where `host` is not loopback. All others are refused, which stops DNS rebinding.',
      },
      {
        pattern: '^(?:\\*|(?:\\[[0-9a-fA-F:.]+\\]|[^\\s/*?#@:,\\[\\]]+)(?::\\d{1,5})?)$',
        patternErrorMessage:
          'must be a host name, optionally with a port, such as mcp.example.com:8443, or "*"',
        description: 'Host name, optionally with a port.',
      },
    ),
    allowedOrigins: list(
      {
        description:
          'Further values accepted in the `Origin` header, such as `https://app.example.com`. Browsers send it; pages of any origin but these and the own one are refused.',
      },
      {
        pattern: '^[a-zA-Z][a-zA-Z0-9+.-]*://[^/\\s]+$',
        patternErrorMessage: 'must be an origin without a path, such as https://app.example.com',
      },
    ),
  },
);

export const naming = section(
  { default: {}, description: 'How the names of tools and prompts are exposed to clients.' },
  {
    style: oneOf(['dotted', 'strict'], {
      default: 'dotted',
      description:
        '`dotted`: namespace, separator, name, as the specification allows. `strict`: `__` as separator, only `A-Z a-z 0-9 _ -`, at most 52 characters, for clients and model APIs that refuse dots or long names. Calls are answered under both.',
    }),
    separator: text({
      pattern: '^[._-]{1,3}$',
      patternErrorMessage: 'must be 1 to 3 of ".", "_" and "-", the signs the specification allows in names',
      default: '.',
      description: 'Put between namespace and name in the dotted style.',
    }),
    maxLength: whole({
      minimum: 16,
      maximum: 128,
      default: 128,
      description:
        'Longest exposed name in the dotted style; 128 is the limit of the specification. Longer names are cut and get a short digest.',
    }),
  },
);

export const lists = section(
  { default: {}, description: 'How lists are answered.' },
  {
    pageSize: whole({
      minimum: 0,
      default: 0,
      description: 'Items on one page; 0 sends one page. Many clients read only the first page.',
    }),
    maxTtl: duration(
      '60s',
      'Longest time a client is told it may keep a list. Clients without an open stream hear of changes only when that is over.',
    ),
    firstWait: duration(
      '2s',
      'Longest wait of a first list for upstreams that are still connecting, and for lists that are read for the calling user; then what is there is served and the rest announced later.',
    ),
  },
);

export const changes = section(
  { default: {}, description: 'Notices of change to clients.' },
  { debounce: duration('50ms', 'Changes that come within this time of each other make one notice.') },
);

/** What becomes of a definition that is not the approved one. */
export const ON_CHANGE = ['warn', 'allow', 'quarantine'] as const;

export const pins = section(
  {
    default: {},
    description:
      'What is approved of what the servers say of themselves: `patchbay pin` writes it to `patchbay.lock.json` beside this file.',
  },
  {
    onChange: oneOf(ON_CHANGE, {
      default: 'warn',
      description:
        'When a definition is not the approved one. `warn`: logged once and counted in `/readyz`. `allow`: nothing is said. Without a lock file neither says anything. `quarantine`: also, what is new or means something else is not served until it is approved, and what has grown is told as it was approved; without a lock file, or with one that cannot be read, nothing that can be approved is served.',
    }),
  },
);

export const sessions = section(
  { default: {}, description: 'Sessions of clients that speak 2025-11-25 or earlier.' },
  {
    idle: duration('30m', 'A session that was not used for this long gives its memory back.', 1),
    maxAge: duration(
      '30d',
      'A session id is refused when it is older than this. Long, since most clients never recover from a refused id.',
      1,
      3650 * 86_400_000,
    ),
    max: whole({
      minimum: 1,
      default: 10_000,
      description: 'Most sessions held in memory; beyond, the one idle for longest is evicted.',
    }),
  },
);

export const streams = section(
  { default: {}, description: 'Open response streams to clients.' },
  {
    keepAlive: duration(
      '15s',
      'A silent stream gets a comment this often, so that proxies do not take it for dead.',
      1,
    ),
    max: whole({
      minimum: 1,
      default: 5000,
      description: 'Most long-lived streams open at once; more are refused.',
    }),
    bufferBytes: size(
      '1MiB',
      'When more than this waits for a client that takes nothing for 10 seconds, it is cut off; one that goes on reading, when 16 times as much waits.',
    ),
    unreadBytes: size(
      '256MiB',
      'Most bytes of answers and events that wait for their readers, those of all clients together. While there are more, whoever has left something unread for longest is cut off.',
    ),
    openAfter: duration(
      '2s',
      'An answer that takes longer than this begins as an event stream, so that proxies see it live and a client of a session can take it up again when the connection breaks.',
    ),
    resumeFor: duration(
      '2m',
      'How long a client of a session has to take up a broken stream where it was cut (`Last-Event-ID`). What it missed is kept so long; after that, as for any event that the session does not know, it gets a new stream.',
    ),
    replayEvents: whole({
      minimum: 1,
      default: 1000,
      description: 'Most events kept for one session; beyond, the oldest is dropped.',
    }),
    replayBytes: size(
      '1MiB',
      'Most bytes of events kept for one session; beyond, the oldest is dropped. The newest is kept however large it is. All sessions together keep at most 64 times this.',
    ),
  },
);

export const legacySse = section(
  {
    default: {},
    description: 'The HTTP+SSE transport of 2024-11-05, for clients that know nothing newer.',
  },
  {
    enabled: flag(false, 'Serve it. The transport is deprecated; most clients do not need it.', {
      restart: true,
    }),
    path: text({
      pattern: '^(?!/(?:mcp|healthz|readyz|metrics|ui|api|\\.well-known)(?:/|$))(?:/[A-Za-z0-9._~-]+)+$',
      patternErrorMessage: 'must be a path such as /sse, and none that the gateway serves already',
      default: '/sse',
      restart: true,
      description:
        'Path of the stream; `<path>/<upstream id>` serves one upstream alone. Clients post to the address that the stream tells them.',
    }),
  },
);

export const limits = section(
  { default: {}, description: 'Bounds on what clients may send and cost.' },
  {
    maxBodyBytes: size('8MiB', 'Largest request body; a larger one is answered 413.', { restart: true }),
    bodiesBytes: size(
      '256MiB',
      'Most bytes of request bodies that are received or worked on at once, those of all clients together. While there are more, further ones are answered 503 with `Retry-After`. Never less than one body may have.',
    ),
    bodyTimeout: {
      ...duration(
        '60s',
        'Longest time that a client may take to send one request; then its connection is closed (408).',
        1,
      ),
      restart: true,
    },
    connections: whole({
      minimum: 1,
      default: 10_000,
      restart: true,
      description:
        'Most connections of clients that are open at once; further ones are closed as soon as they come. Keep it below the number of files that the process may open, so that there are some left for servers.',
    }),
    cacheBytes: size(
      '64MiB',
      'Most bytes of lists that belong to single users, and of resources that may be served again. What was used longest ago goes first, and is asked for again when it is needed.',
      { restart: true },
    ),
    perPrincipal: section(
      {
        default: {},
        description:
          'For each user; with `auth.mode: none` everybody is one user. 0 sets no bound. Beyond: 429 with `Retry-After`.',
      },
      {
        requestsPerSecond: whole({ minimum: 0, default: 0, description: 'Requests in one second.' }),
        burst: whole({
          minimum: 0,
          default: 0,
          description: 'Requests beyond that which one user may make in ten seconds.',
        }),
        concurrency: whole({ minimum: 0, default: 0, description: 'Requests under way at once.' }),
        streams: whole({ minimum: 0, default: 0, description: 'Long-lived streams open at once.' }),
      },
    ),
  },
);

export const ui = section(
  { default: {}, description: 'The page for operators at `/ui/`; see docs/ui.md.' },
  {
    enabled: flag(
      true,
      'Serve it. It shows what `/api/…` answers, to operators alone: with sign-in members of `operators.groups`, without it whoever sits at this machine.',
      { restart: true },
    ),
  },
);

export const shutdown = section(
  { default: {}, description: 'How the gateway ends.' },
  { grace: duration('10s', 'Time for calls in flight to finish before they are cut.') },
);

export const questions = section(
  {
    default: {},
    description: 'Calls that wait for an answer of the user (elicitation, sampling, roots).',
  },
  {
    ttl: duration('5m', 'How long a call waits for its answers; then it is cancelled.', 1),
    perPrincipal: whole({
      minimum: 1,
      default: 16,
      description: 'Calls of one user that may wait at once; one more is refused.',
    }),
    rounds: whole({ minimum: 1, default: 10, description: 'Rounds of questions within one call.' }),
  },
);
