import type { Principal } from '../access/principal.ts';
import { isObject, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { codecFor } from '../protocol/codec.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import { notification, type RpcNotification, type RpcRequest, result } from '../protocol/json-rpc.ts';
import { META, metaOf } from '../protocol/meta.ts';
import type { Implementation } from '../protocol/model.ts';
import { negotiateLegacy } from '../protocol/versions.ts';
import type { ClientFace, Entrance, RequestContext, SessionFace } from '../relay/context.ts';
import type { Reply } from '../relay/relay.ts';
import { tellAside } from './aside.ts';
import { askClient } from './asking.ts';
import { cancel, track } from './calls.ts';
import type { FrontOptions } from './front.ts';
import type { Session } from './sessions.ts';

/** What is the same for every client, whatever connection it has: Streamable HTTP, HTTP+SSE, or a pipe. */

/** Who speaks, and where. */
export interface Standing {
  readonly principal: Principal;
  readonly entrance: Entrance;
  readonly log: Log;
}

/** What the connection gives to one request. */
export interface Way {
  /** Aborts when the client no longer waits. */
  readonly signal: AbortSignal;
  /** Writes to the client before the answer; false where that cannot be heard. */
  readonly say: (json: string) => boolean;
}

/** A modern request: everything it needs is in it. `headers` where there are some to check against the body. */
export function modernContext(
  front: FrontOptions,
  standing: Standing,
  { message, version, headers }: { message: RpcRequest; version: string; headers: HeaderMap | undefined },
  way: Way,
): RequestContext {
  const meta = metaOf(message.params);
  const capabilities = meta[META.clientCapabilities];
  const client: ClientFace = {
    info: implementation(meta[META.clientInfo]),
    capabilities: isObject(capabilities) ? capabilities : {},
    logLevel: stringAt(meta, META.logLevel),
  };
  return { ...common(front, standing, client, version, way), headers, session: undefined };
}

/** Opens a session: the id carries all that a later request needs, so it outlives a restart of the gateway. */
export function greet(
  front: FrontOptions,
  { principal, entrance, log }: Standing,
  message: RpcRequest,
): { readonly sessionId: string; readonly json: string } {
  const { protocolVersion, clientInfo: info, capabilities } = message.params ?? {};
  const version = negotiateLegacy(protocolVersion);
  const about = { version, info, capabilities, principal, entrance: entrance.id };
  const answer = result(message.id, front.hello.initialize(entrance, version));
  log.info({ client: implementation(info).name, version }, 'session opened');
  return { sessionId: front.sessions.create(about), json: JSON.stringify(answer) };
}

/** Answers a request of a session. `cancelled`: by the client, which then expects no answer. */
export async function answerInSession(
  front: FrontOptions,
  standing: Standing,
  session: Session,
  message: RpcRequest,
  say: Way['say'],
): Promise<{ readonly reply: Reply; readonly cancelled: boolean }> {
  const { live } = session;
  const cancelling = new AbortController();
  const { signal } = cancelling;
  const done = track(live.calls, message.id, cancelling);
  const way: Way = { signal, say };
  const client: ClientFace = { ...session, logLevel: live.logLevel };
  const context: RequestContext = {
    ...common(front, standing, client, session.version, way),
    headers: undefined,
    session: faceOf(session, say, front.settings.questions.ttl),
  };
  try {
    return { reply: await front.relay.handle(message, context), cancelled: signal.aborted };
  } finally {
    done();
  }
}

/** A notification in a session. What means nothing here is taken all the same: it needs no answer. */
export async function hear(front: FrontOptions, message: RpcNotification, session: Session): Promise<void> {
  if (message.method === 'notifications/cancelled') {
    cancel(session.live.calls, message.params?.['requestId']);
  } else if (message.method === 'notifications/roots/list_changed') {
    await front.upstreams.notify(session.sid, message.method, message.params);
  }
}

/** Ends a session and the upstream connections that are its own. */
export function endSession(front: FrontOptions, session: Session): void {
  front.sessions.end(session);
  front.upstreams.release(session.sid);
}

/** How the relay reaches the client of this session: on the stream of its request, or on its newest stream of all. */
function faceOf(session: Session, say: Way['say'], ttlMs: number): SessionFace {
  const { live } = session;
  const aside = (json: string) => tellAside(session, json);
  return {
    sid: session.sid,
    ask: (question) => askClient(session, question, (json) => say(json) || aside(json), ttlMs),
    askAside: (question) => askClient(session, question, aside, ttlMs),
    setLogLevel: (level) => {
      live.logLevel = level;
    },
    watch: ({ uri, start }) => {
      const tell = (updated: string) => {
        aside(JSON.stringify(notification('notifications/resources/updated', { uri: updated })));
      };
      if (!live.watched.has(uri)) {
        live.watched.set(uri, start(tell));
      }
    },
    unwatch: (uri) => {
      live.watched.get(uri)?.();
      live.watched.delete(uri);
    },
  };
}

function common(
  front: FrontOptions,
  standing: Standing,
  client: ClientFace,
  version: string,
  { signal, say }: Way,
) {
  return {
    principal: standing.principal,
    entrance: standing.entrance,
    log: standing.log,
    codec: codecFor(version),
    client,
    catalog: front.catalog(),
    signal,
    notify: (notice: RpcNotification) => {
      if (!signal.aborted) {
        say(JSON.stringify(notice));
      }
    },
  };
}

function implementation(value: unknown): Implementation {
  const name = stringAt(value, 'name') ?? 'unnamed';
  return isObject(value)
    ? { ...value, name, version: stringAt(value, 'version') ?? '' }
    : { name, version: '' };
}
