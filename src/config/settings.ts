import Type from 'typebox';
import { access, auth, operators, views } from './access-settings.ts';
import { type Declared, mapping, NOT_EMPTY, section, text } from './declare.ts';
import {
  changes,
  legacySse,
  limits,
  listen,
  lists,
  naming,
  pins,
  questions,
  sessions,
  shutdown,
  streams,
  ui,
} from './gateway-settings.ts';
import { audit, metrics, tracing } from './observe-settings.ts';
import { oldSealingKeys, SEALING_KEY, state } from './state-settings.ts';
import { http, ID_PATTERN, ID_RULE, stdio } from './upstream-settings.ts';
import { vetting } from './vetting-settings.ts';

/**
 * Every setting there is. This one declaration gives the TypeScript types, the published JSON Schema, the defaults and
 * docs/config.md; a key that is not here is refused. Durations are milliseconds and sizes bytes once they are read.
 */
export const SETTINGS = section(
  { description: 'Configuration of Patchbay.' },
  {
    name: text({
      ...NOT_EMPTY,
      default: 'patchbay',
      restart: true,
      description: 'Name told to clients (`serverInfo.name`).',
    }),
    instructions: Type.Optional(
      text({ description: 'Text for the model, put before the instructions of the upstreams.' }),
    ),
    listen,
    sealingKey: Type.Optional(
      text({
        ...SEALING_KEY,
        restart: true,
        description:
          'Key that seals session ids and cursors: 32 bytes in base64. Without it one is made and kept in `stateDir`. Replicas need the same one.',
      }),
    ),
    oldSealingKeys,
    state,
    stateDir: Type.Optional(
      text({
        ...NOT_EMPTY,
        restart: true,
        description:
          'Folder for what must outlive a restart. A relative one starts at the folder of the config file.',
      }),
    ),
    auth,
    access,
    operators,
    views,
    naming,
    pins,
    vetting,
    lists,
    changes,
    sessions,
    streams,
    legacySse,
    questions,
    limits,
    metrics,
    tracing,
    audit,
    ui,
    shutdown,
    upstreams: mapping(
      {
        keys: ID_PATTERN,
        patternErrorMessage: ID_RULE,
        default: {},
        description:
          'The MCP servers behind the gateway, each under an id of its own (1 to 32 of `a-z 0-9 _ -`, a letter or digit first). An entry has either a `command` or a `url`. The order counts: lists follow it, and of two servers with one resource URI the first keeps it.',
      },
      Type.Union([stdio, http]),
    ),
  },
);

interface Named {
  readonly id: string;
  /** Why an entry that the file leaves on is off: names the field and the variable. */
  readonly disabledReason?: string;
}
export interface StdioUpstream extends Declared<typeof stdio>, Named {
  readonly kind: 'stdio';
}
export interface HttpUpstream extends Declared<typeof http>, Named {
  readonly kind: 'http';
}
export type UpstreamSettings = StdioUpstream | HttpUpstream;

/** The file as it was read, before upstreams get their id and kind. */
export type SettingsFile = Declared<typeof SETTINGS>;

/** Everything the gateway runs by: complete, checked, and frozen all the way down. */
export interface Settings extends Omit<SettingsFile, 'upstreams'> {
  /** By id, in the order of the file; has no prototype, so any id can be looked up. */
  readonly upstreams: Readonly<Record<string, UpstreamSettings>>;
}
