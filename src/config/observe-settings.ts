import Type from 'typebox';
import {
  flag,
  HEADER_VALUE,
  HTTP_URL,
  mapping,
  NOT_EMPTY,
  oneOf,
  section,
  size,
  text,
  whole,
} from './declare.ts';

/** The sections about what the gateway tells of itself. All of them hold from the next start on. */
const RESTART = { restart: true };

export const metrics = section(
  { default: {}, description: 'What Prometheus can read at `GET /metrics`; see docs/observing.md.' },
  {
    enabled: flag(true, 'Count, and serve the counts.', RESTART),
    public: flag(
      false,
      'Anybody who can reach the gateway may read them. Otherwise operators, as for the details of `/readyz`: with sign-in members of `operators.groups`, without it whoever sits at this machine.',
      RESTART,
    ),
    tokenSha256: Type.Optional(
      text({
        ...RESTART,
        pattern: '^[0-9a-fA-F]{64}$',
        patternErrorMessage: 'must be the SHA-256 of the token in hex (printf %s "$TOKEN" | sha256sum)',
        description:
          'SHA-256 of a token that is good for reading the metrics and for nothing else, sent as `Authorization: Bearer …`; beside those who may read them anyway.',
      }),
    ),
    tools: whole({
      ...RESTART,
      minimum: 0,
      maximum: 10_000,
      default: 0,
      description:
        'Most tools that are counted by name; calls of further ones are counted together. 0 counts none by name, since names may say what users do.',
    }),
  },
);

export const tracing = section(
  { default: {}, description: 'Traces, sent by OTLP over HTTP (OpenTelemetry); see docs/observing.md.' },
  {
    enabled: flag(false, 'Trace requests, calls to upstreams, and the reading of catalogs.', RESTART),
    endpoint: text({
      ...HTTP_URL,
      ...RESTART,
      default: 'http://localhost:4318/v1/traces',
      description: 'Where traces are sent: the whole URL of a collector, its path included.',
    }),
    headers: mapping(
      { keys: '^[A-Za-z0-9-]+$', default: {}, ...RESTART, description: 'Headers for the collector.' },
      text({ ...HEADER_VALUE, description: 'Value of one header.' }),
    ),
    percent: whole({
      ...RESTART,
      minimum: 0,
      maximum: 100,
      default: 100,
      description: 'How many of a hundred requests are traced, where their client has not decided that.',
    }),
    follow: flag(
      true,
      'Requests of clients that send a `traceparent` belong to that trace, and are traced where it is.',
      RESTART,
    ),
    queue: whole({
      ...RESTART,
      minimum: 1,
      default: 2048,
      description: 'Most spans that wait to be sent; further ones are dropped and counted.',
    }),
  },
);

export const audit = section(
  {
    default: {},
    description:
      'Who was offered what and who called what, as JSON lines; see docs/observing.md. `patchbay usage` reads them.',
  },
  {
    file: Type.Optional(
      text({
        ...NOT_EMPTY,
        ...RESTART,
        description:
          'Where they go: a file, or `-` for stdout. Absent: nowhere. A relative path starts at the folder of the config file. SIGHUP opens the file anew.',
      }),
    ),
    arguments: oneOf(['digest', 'none', 'full'], {
      default: 'digest',
      description:
        'What is told of the arguments of a call. `digest`: their size and a keyed digest, which tells whether two were the same, and nothing else. `full`: all of them, but for known secrets.',
    }),
    lists: flag(true, 'Tell also what clients were offered. `patchbay usage` needs it.'),
    rotateBytes: size(
      '64MiB',
      'When the file is larger it is renamed to `<file>.1`, that one to `<file>.2`, and so on.',
    ),
    keep: whole({ minimum: 0, maximum: 1000, default: 5, description: 'How many of those are kept.' }),
    bufferBytes: size(
      '8MiB',
      'Most bytes that wait to be written; further lines are dropped and counted. Nothing waits for a slow disk.',
      RESTART,
    ),
    onFailure: oneOf(['log', 'refuse'], {
      default: 'log',
      description:
        'When lines cannot be written. `log`: that is logged and counted, and the gateway goes on. `refuse`: calls are refused until they can be written again.',
    }),
  },
);
