import type { Log } from '../base/log.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Implementation } from '../protocol/model.ts';
import { type Credential, createCredentials } from './credentials.ts';
import { createHttpTransport } from './http.ts';
import type { Replicas } from './replicas.ts';
import { createSseTransport } from './sse-2024.ts';
import { Standing } from './standing.ts';
import { createStdioTransport } from './stdio.ts';
import { Supervisor } from './supervisor.ts';
import type { Transport } from './transport.ts';

/** What one upstream has to tell. `owner`: see {@link FleetEvents}. */
export interface SeatEvents {
  connected(owner?: string): void;
  lost(owner?: string): void;
  failedFirst(): void;
  notice(notice: RpcNotification, owner?: string): void;
}

const nothing = () => {};
/** Of whom nothing is heard: before it serves, and after. */
const UNHEARD: SeatEvents = {
  connected: nothing,
  lost: nothing,
  failedFirst: nothing,
  notice: nothing,
};

/** One upstream as one version of the configuration wants it, and whoever hears of it at the moment. */
export class Seat {
  /** What its processes and connections are made by. */
  readonly settings: UpstreamSettings;
  readonly supervisor: Supervisor;
  /** Where users sign in by themselves. */
  readonly standing: Standing | undefined;
  hears: SeatEvents = UNHEARD;

  constructor(
    settings: UpstreamSettings,
    about: {
      readonly clientInfo: Implementation;
      readonly log: Log;
      readonly replicas?: Replicas | undefined;
    },
  ) {
    this.settings = settings;
    const log = about.log.child({ upstream: settings.id });
    const credentials = createCredentials(settings, about.replicas?.tokens(settings));
    this.standing = credentials.own
      ? new Standing(settings, log, (grant, terms) => about.replicas?.told(settings, grant, terms))
      : undefined;
    this.supervisor = new Supervisor({
      settings,
      // The gateway's own traffic announces no capabilities: nobody could answer (case C-070).
      envelope: { clientInfo: about.clientInfo, clientCapabilities: {} },
      log,
      credentials,
      homes: about.replicas?.homes,
      standing: this.standing,
      transport: (sse, user) => transportFor(settings, sse, credentials.for(user ?? nobody), log),
      events: {
        connected: () => this.hears.connected(),
        lost: () => this.hears.lost(),
        failedFirst: () => this.hears.failedFirst(),
        notice: (notice) => this.hears.notice(notice),
      },
      ownEvents: {
        missed: (owner) => this.hears.connected(owner),
        lost: (owner) => this.hears.lost(owner),
        notice: (notice, owner) => this.hears.notice(notice, owner),
      },
    });
  }

  /** It serves no longer: calls under way get `graceMs`. See {@link Supervisor.drain}. */
  retire(graceMs: number): Promise<void> {
    this.hears = UNHEARD;
    return this.supervisor.drain(graceMs);
  }
}

/** Whom the shared connection is for. */
const nobody = () => undefined;

function transportFor(upstream: UpstreamSettings, sse: boolean, credential: Credential, log: Log): Transport {
  if (upstream.kind === 'stdio') {
    return createStdioTransport({ upstream, log });
  }
  const about = { upstream, credential, log };
  return sse ? createSseTransport(about) : createHttpTransport(about);
}
