import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { createPrincipal, type Principal } from '../../../src/access/principal.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { parseSettings } from '../../../src/config/load.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { Fleet } from '../../../src/upstream/fleet.ts';
import type { Party } from '../../../src/upstream/party.ts';
import { createLogCatcher } from './transport-kit.ts';

/** Settings of upstreams as a file would give them, in a gateway whose users come with tokens. */
export function settingsOf(upstreams: Record<string, unknown>): Settings {
  const jwt = { issuer: 'https://issuer.example' };
  const text = stringify({ auth: { mode: 'jwt', jwt }, upstreams });
  const file = join(tmpdir(), 'gateway.yaml');
  return parseSettings(text, { file, env: {}, readFile: () => '' }).settings;
}

/** A user who has signed in. */
export function user(id: string, about: Partial<Principal> & { readonly token?: string } = {}): Principal {
  const { token, ...rest } = about;
  return createPrincipal({
    key: JSON.stringify(['https://issuer.example', id]),
    id,
    issuer: 'https://issuer.example',
    groups: [],
    scopes: [],
    expires: undefined,
    presented: token === undefined ? undefined : () => token,
    ...rest,
  });
}

export function partyOf(principal: Principal, about: Partial<Party> = {}): Party {
  return {
    principal,
    session: undefined,
    era: 'modern',
    info: { name: 'client', version: '1' },
    capabilities: {},
    question: () => Promise.reject(new Error('nobody to ask')),
    ...about,
  };
}

export const OPTIONS = {
  envelope: { clientInfo: { name: 'client', version: '1' }, clientCapabilities: {} },
  timeoutMs: 20_000,
  totalMs: 20_000,
} as const;

/** What a fleet told, as `event upstream owner`. */
export interface StartedFleet {
  readonly fleet: Fleet;
  readonly told: readonly (readonly unknown[])[];
  readonly lines: () => string[];
  readonly call: (party: Party, name: string, args?: JsonObject) => Promise<JsonObject>;
  readonly list: (party: Party) => Promise<readonly string[]>;
}

/** A fleet with one upstream, `up`, started and ended with the test. */
export function startFleet(upstream: Record<string, unknown>): StartedFleet {
  const told: (readonly unknown[])[] = [];
  const { log, lines } = createLogCatcher();
  const note =
    (event: string) =>
    (...about: readonly unknown[]) =>
      void told.push([event, ...about.filter((each) => each !== undefined)]);
  const fleet = new Fleet({
    upstreams: settingsOf({ up: upstream }).upstreams,
    clientInfo: { name: 'gateway', version: '0' },
    log,
    events: {
      connected: note('connected'),
      lost: note('lost'),
      failedFirst: note('failedFirst'),
      updated: note('updated'),
      task: note('task'),
      changed: note('changed'),
    },
  });
  fleet.start();
  onTestFinished(() => fleet.close(500));
  return {
    fleet,
    told,
    lines,
    call: (party, name, args = {}) =>
      fleet.call('up', 'tools/call', { name, arguments: args }, OPTIONS, party),
    async list(party) {
      const { tools } = await fleet.request('up', 'tools/list', {}, OPTIONS, party);
      return (tools as { name: string }[]).map(({ name }) => name);
    },
  };
}
