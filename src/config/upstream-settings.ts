import Type from 'typebox';
import { credentials, HEADER_NAME } from './credentials-settings.ts';
import {
  duration,
  flag,
  HEADER_VALUE,
  HTTP_URL,
  list,
  mapping,
  oneOf,
  removableText,
  section,
  size,
  text,
  whole,
} from './declare.ts';
import { ON_CHANGE } from './gateway-settings.ts';
import { tools } from './tool-settings.ts';
import { upstreamVetting, validate } from './vetting-settings.ts';

/** The sections about one upstream: what both kinds share, and what is particular to each. */

/** Protocol versions that can be pinned for an upstream; newest last. Proven equal to those of the protocol room by a test. @internal */
export const PROTOCOL_VERSIONS = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
] as const;

/** Safe in exposed names, URLs (`/mcp/<id>`) and file names, hence no dot, no capitals, nothing beyond ASCII (C-002). */
export const ID_PATTERN = '^(?!x-)[a-z0-9][a-z0-9_-]{0,31}$';
export const ID_RULE = 'must be 1 to 32 of a-z, 0-9, "_" and "-", and begin with a letter or digit';

const NO_NUL = { pattern: '^[^\\u0000]*$', patternErrorMessage: 'must not hold a NUL character' };

const common = {
  enabled: flag(true, '`false` keeps the entry but does not start it; its variables need not be set then.'),
  optional: flag(
    false,
    '`true`: readiness does not wait for it, and an unset variable turns it off with a reason instead of being an error.',
  ),
  namespace: text({
    pattern: '^([a-z0-9][a-z0-9_-]{0,31})?$',
    patternErrorMessage: `${ID_RULE}; or be ""`,
    derived: 'the id',
    description:
      'Put before the names of its tools and prompts. `""` exposes them unchanged, for at most one upstream. No two may be equal.',
  }),
  protocol: Type.Unsafe<string>(
    oneOf(['auto', ...PROTOCOL_VERSIONS], {
      default: 'auto',
      description: 'Protocol version to speak; `auto` finds out and remembers.',
    }),
  ),
  isolation: Type.Unsafe<'shared' | 'user' | 'session'>({
    type: 'string',
    enum: ['shared', 'user', 'session'],
    derived: '`user` where `credentials` are those of the calling user, else `shared`',
    description:
      'Who shares a connection. `shared`: everybody; a server of the `initialize` era has nobody to ask questions then. `user`: one connection for each user and set of capabilities; `session`: one for each session of a client. Then its questions (elicitation, sampling, roots) reach exactly that client, and its lists are read for each user. Servers of the 2026-07-28 era that are reached with one credential for everybody need none of this.',
  }),
  tools,
  validate,
  vetting: upstreamVetting,
  pins: section(
    { default: {}, description: 'What is approved of what it says of itself.' },
    {
      onChange: Type.Unsafe<(typeof ON_CHANGE)[number]>({
        type: 'string',
        enum: ON_CHANGE,
        derived: 'that of `pins.onChange`',
        description: 'When one of its definitions is not the approved one.',
      }),
    },
  ),
  trust: section(
    { default: {}, description: 'What it says of itself that is believed.' },
    {
      annotations: flag(
        false,
        'Whether its hints (`readOnlyHint`, `destructiveHint`, `openWorldHint`) count in rules with `where`.',
      ),
    },
  ),
  instructions: flag(true, 'Whether its instructions become part of those of the gateway.'),
  timeouts: section(
    { default: {}, description: 'Longest waits.' },
    {
      connect: duration('10s', 'For a connection, or for a process and its handshake.', 1),
      probe: duration(
        '3s',
        'For the answer to the first question, which version it speaks. Old servers may not answer at all, so this delays their start.',
        1,
      ),
      call: duration('60s', 'For the answer to one request, or for the next sign of progress.', 1),
      idle: duration('5m', 'After which an isolated connection that nobody uses is closed.', 1),
      total: duration('10m', 'For one request in all, however much progress it reports.', 1),
      health: duration(
        '30s',
        'After which one that has said nothing is asked whether it is still there (`ping`, or `server/discover`). No answer within `connect`, and it is connected anew; a process is ended and started again. `0`: it is never asked.',
      ),
    },
  ),
  limits: section(
    { default: {}, description: 'Bounds on what it may cost.' },
    {
      concurrency: whole({ minimum: 1, default: 16, description: 'Requests in flight at once.' }),
      queue: whole({
        minimum: 0,
        default: 256,
        description:
          'Requests that may wait for their turn; more are refused at once. Turns go round the users who wait, whoever asked more; in a full queue the newest request of whoever has most makes room for others.',
      }),
      maxMessageBytes: size('16MiB', 'Largest message taken from it.'),
      connections: whole({
        minimum: 1,
        default: 32,
        description: 'Isolated connections at once; where `isolation` is `shared` there are none.',
      }),
    },
  ),
  cache: section(
    { default: {}, description: 'How long what it said is believed.' },
    {
      ttl: duration(
        '5m',
        'Where the upstream gives no hint of its own: its lists are read again after this.',
      ),
      staleFor: duration(
        '10m',
        'While it is unreachable, its last lists are served for this long; then its items go.',
      ),
      scope: oneOf(['auto', 'private'], {
        default: 'auto',
        description:
          'Whose its lists are. `auto`: those of single users where the server says `private` or is reached as that user, else those of everybody. `private`: those of single users in any case.',
      }),
      trustPublic: flag(
        false,
        'Only where it is reached as the calling user: answers that it calls `public` are believed to be, and shared by all.',
      ),
    },
  ),
  restart: section(
    { default: {}, description: 'Back-off between tries to reach it again.' },
    {
      base: duration('500ms', 'First delay; it doubles with each failure.', 1),
      cap: duration('30s', 'Longest delay.', 1),
      breakAfter: whole({
        minimum: 1,
        default: 5,
        description:
          'Failures in a row after which it counts as broken: then it is tried only about every `cap`. Ending within 30 seconds of a connection is a failure too.',
      }),
    },
  ),
  start: oneOf(['eager', 'lazy'], {
    default: 'eager',
    description:
      '`lazy`: it is connected, or its process started, when the first list or call needs it; readiness does not wait for it.',
  }),
  retry: oneOf(['never', 'safe'], {
    default: 'never',
    description:
      'What happens to a call whose connection is lost. `never`: it ends with an error, since it may have taken effect. `safe`: it is made once more if the tool is `readOnlyHint` or `idempotentHint`, by `tools.annotate` or by a server whose annotations are trusted.',
  }),
  stop: section(
    { default: {}, description: 'How it is ended.' },
    { grace: duration('3s', 'Time to end by itself before it is ended by force.') },
  ),
};

export const stdio = section(
  { description: 'A server that the gateway starts as a process and speaks to over stdin and stdout.' },
  {
    command: text({
      minLength: 1,
      pattern: '^[^\\u0000]+$',
      patternErrorMessage: 'must name a program',
      description: 'Program to start: a name that is looked up in `PATH`, or a path. No shell is involved.',
    }),
    args: list({ description: 'Arguments, each one as it is.' }, NO_NUL),
    env: mapping(
      {
        keys: '^[^=\\u0000]+$',
        default: {},
        description:
          'Environment of the process. `null` leaves a variable out. Numbers and flags need quotes.',
      },
      removableText(NO_NUL),
    ),
    passEnv: list(
      {
        description:
          'Variables of the gateway that the process gets too. All others but a few harmless ones (`PATH`, `HOME`, …) are kept from it, since they may hold secrets of other servers.',
      },
      { pattern: '^[^=\\u0000]+$', patternErrorMessage: 'must be the name of a variable' },
    ),
    cwd: text({
      minLength: 1,
      pattern: '^[^\\u0000]+$',
      patternErrorMessage: 'must be a folder',
      derived: 'the folder of the config file',
      description: 'Folder the process runs in. A relative one starts at the folder of the config file.',
    }),
    idleStop: duration(
      '0',
      'After so long without calls, watched resources or open questions the process is ended; what it offers stays listed, and the next call starts it. `0`: never.',
    ),
    ...common,
  },
);

export const http = section(
  { description: 'A server that is reached over HTTP.' },
  {
    url: text({
      ...HTTP_URL,
      description: 'Its MCP endpoint. User name and password are refused in it: send them in `headers`.',
    }),
    headers: mapping(
      {
        keys: HEADER_NAME,
        default: {},
        description:
          'Sent with every request. `null` leaves a header out, and one whose value is empty is not sent.',
      },
      removableText(HEADER_VALUE),
    ),
    credentials,
    transport: oneOf(['auto', 'streamable-http', 'sse'], {
      default: 'auto',
      description: '`auto` tries Streamable HTTP first, then the older pair of SSE stream and POST endpoint.',
    }),
    ...common,
  },
);
