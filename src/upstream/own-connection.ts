import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { pause } from '../base/time.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import { LATEST_LEGACY } from '../protocol/versions.ts';
import type { Connection } from './connection.ts';
import { establish } from './establish.ts';
import type { Member } from './member.ts';
import type { Standing } from './standing.ts';
import { hear, STREAM_HEADERS_MS } from './subscribe.ts';
import type { Transport } from './transport.ts';

export interface PoolEvents {
  /** Notices that belong to no call: they concern the owner of the connection (its grant), and nobody else. */
  notice(notice: RpcNotification, owner: string): void;
  /** Notices to this owner may have gone unheard for a while. */
  missed(owner: string): void;
  /** This owner has no connection any more, so nothing is heard. */
  lost(owner: string): void;
}

export interface PoolOptions {
  readonly settings: UpstreamSettings;
  readonly transport: (sse: boolean, user: () => Principal) => Transport;
  /** Where users sign in by themselves: what is known of the server. Else it is the shared connection that knows. */
  readonly standing: Standing | undefined;
  /** Whether the URL speaks only the 2024-11-05 transport, as the shared connection found out. */
  readonly sse: () => boolean;
  readonly events: PoolEvents;
  readonly log: Log;
}

export interface OwnConnectionOptions extends PoolOptions {
  readonly signal: AbortSignal;
  /** The transport has ended. */
  readonly closed: () => void;
  /** How many other connections there are. */
  readonly others: () => number;
}

/**
 * A connection that belongs to one user or one session, opened and able to hear: a server may ask or tell on its stream
 * of notices as soon as the first call has come. Where the user signs in, it is of whichever era the server speaks; else
 * it is for the legacy era alone. Rejects like {@link establish}.
 */
export async function openOwn(member: Member, options: OwnConnectionOptions): Promise<Connection> {
  const { standing, others } = options;
  const memory = standing?.memory ?? { era: 'legacy' as const, sse: options.sse(), hung: false };
  try {
    const connection = await established(member, options, memory);
    await listening(member, connection, options);
    standing?.opened(connection.terms, memory);
    return connection;
  } catch (thrown) {
    const error = thrown instanceof GatewayError ? thrown : new GatewayError('INTERNAL', { cause: thrown });
    standing?.failed(error, others(), memory);
    throw error;
  }
}

function established(
  member: Member,
  options: OwnConnectionOptions,
  memory: Parameters<typeof establish>[0]['memory'],
): Promise<Connection> {
  const { settings, standing, transport, events, log, signal, closed } = options;
  const { info, capabilities } = member.party;
  const legacyOnly = standing === undefined && settings.protocol === 'auto';
  return establish({
    settings: legacyOnly ? { ...settings, protocol: LATEST_LEGACY } : settings,
    memory,
    transport: (sse) => transport(sse, () => member.user),
    envelope: { clientInfo: info, clientCapabilities: capabilities },
    log,
    signal,
    events: {
      notice: (notice) => events.notice(notice, member.grant),
      closed,
      question: (question) => member.party.question(question),
    },
  });
}

/** Resolves when notices can be heard, or are not worth waiting for any longer; what is missed later is told. */
async function listening(
  member: Member,
  connection: Connection,
  { settings, events, log }: OwnConnectionOptions,
): Promise<void> {
  const { info } = member.party;
  let handedOut = false;
  const heard = new Promise<void>((resolve) => {
    const read = () => {
      resolve();
      if (handedOut) {
        events.missed(member.grant);
      }
    };
    // The stream is the gateway's own, and nobody could answer a question there.
    hear({ connection, settings, envelope: { clientInfo: info, clientCapabilities: {} }, log, read });
  });
  await Promise.race([heard, pause(STREAM_HEADERS_MS)]);
  handedOut = true;
}
