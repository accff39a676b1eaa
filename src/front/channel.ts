import type { Principal } from '../access/principal.ts';
import { Ender, type EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, stringAt } from '../base/json.ts';
import { cut, type Log } from '../base/log.ts';
import { codecFor } from '../protocol/codec.ts';
import type { HeaderMap } from '../protocol/headers.ts';
import {
  notification,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
  result,
} from '../protocol/json-rpc.ts';
import { META, metaOf } from '../protocol/meta.ts';
import type { Implementation } from '../protocol/model.ts';
import { negotiateLegacy } from '../protocol/versions.ts';
import type { Caller, ClientFace, RequestContext, SessionFace } from '../relay/context.ts';
import type { Reply } from '../relay/relay.ts';
import { tellAside } from './aside.ts';
import { askClient } from './asking.ts';
import { cancel } from './calls.ts';
import type { FrontOptions } from './front.ts';
import type { Afar, Live } from './live.ts';
import type { Standing } from './regime.ts';
import { beginCall, type Introduction, type Session } from './sessions.ts';

/** What is the same for every client, whatever connection it has: Streamable HTTP, HTTP+SSE, or a pipe. */

/** Most resources that one session watches; each has an upstream work for it. */
const MOST_WATCHED = 1_000;
/** Characters of a client's own name that are logged. */
const LOGGED_NAME = 200;

/** What the connection gives to one request. */
export interface Way {
  /** Aborts when the client no longer waits. */
  readonly signal: EndSignal;
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
  return contextOf(front, standing, { client, version, way, headers, session: undefined });
}

/** What the client of an `initialize` said of itself, for its session, and the answer as JSON text. */
export function greet(
  front: FrontOptions,
  standing: Standing,
  message: RpcRequest,
): { readonly introduction: Introduction; readonly json: string } {
  const { protocolVersion, clientInfo: info, capabilities } = message.params ?? {};
  const visitor = hereOf(front, standing);
  const version = negotiateLegacy(protocolVersion);
  const answer = result(message.id, front.hello.initialize(visitor, version));
  standing.log.info({ client: cut(implementation(info).name, LOGGED_NAME), version }, 'session opened');
  return { introduction: { version, info, capabilities }, json: JSON.stringify(answer) };
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
  const signal = new Ender();
  const done = beginCall(session, message.id, signal);
  try {
    if (live.afar !== undefined) {
      live.joined ??= join(live, live.afar);
      await live.joined;
    }
    const client: ClientFace = { ...session, logLevel: live.logLevel };
    const context = contextOf(front, standing, {
      client,
      version: session.version,
      way: { signal, say },
      headers: undefined,
      session: faceOf(session, say, front.regime().settings.questions.ttl),
    });
    return { reply: await front.relay.handle(message, context), cancelled: signal.aborted };
  } finally {
    done();
  }
}

/** What this session set at other replicas holds here as well. */
async function join(live: Live, afar: Afar): Promise<void> {
  const level = await afar.levelThere();
  live.logLevel ??= level;
}

/** Who asks on behalf of a session while no request of it is under way. */
export function callerOf(front: FrontOptions, principal: Principal, session: Session): Caller {
  return {
    principal,
    codec: codecFor(session.version),
    client: { ...session, logLevel: undefined },
    session: faceOf(session, () => false, front.regime().settings.questions.ttl),
  };
}

/**
 * A notification in a session. What means nothing here is taken all the same: it needs no answer, and no client waits
 * for what its servers make of it.
 */
export function hear(front: FrontOptions, message: RpcNotification, session: Session, log: Log): void {
  if (message.method === 'notifications/cancelled') {
    cancelRequest(session, message.params?.['requestId']);
  } else if (message.method === 'notifications/roots/list_changed') {
    session.live.afar?.notify(message.method, message.params);
    front.upstreams
      .notify(session.sid, message.method, message.params)
      .catch((thrown: unknown) => log.debug({ err: thrown }, 'a notification reached not every server'));
  }
}

function cancelRequest({ live }: Session, id: unknown): void {
  if (live.calls.has(id as RpcId)) {
    cancel(live.calls, id);
  } else if (typeof id === 'string' || typeof id === 'number') {
    live.afar?.cancel(id);
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
      live.afar?.level(level);
    },
    watch: ({ uri, start }) => {
      const tell = (updated: string) => {
        const json = JSON.stringify(notification('notifications/resources/updated', { uri: updated }));
        if (!aside(json)) {
          live.afar?.tell(json);
        }
      };
      if (live.over || live.watched.has(uri)) {
        return;
      }
      if (live.watched.size >= MOST_WATCHED) {
        throw new GatewayError('PARAMS_INVALID', {
          detail: `A session watches ${MOST_WATCHED} resources at most.`,
        });
      }
      live.watched.set(uri, start(tell));
    },
    unwatch: (uri) => {
      live.watched.get(uri)?.();
      live.watched.delete(uri);
    },
  };
}

/** Where somebody stands now. Throws TOKEN_INVALID for whoever is not let in any more. */
function hereOf(front: FrontOptions, standing: Standing): Standing {
  const here = front.regime().now(standing);
  if (here === undefined) {
    throw new GatewayError('TOKEN_INVALID', { logged: 'by a configuration that came after the sign-in' });
  }
  return here;
}

interface Asked extends Pick<RequestContext, 'client' | 'headers' | 'session'> {
  readonly version: string;
  readonly way: Way;
}

function contextOf(
  front: FrontOptions,
  standing: Standing,
  { client, version, way, headers, session }: Asked,
): RequestContext {
  const { signal, say } = way;
  const here = hereOf(front, standing);
  const { principal, access, entrance, log, door } = here;
  return {
    principal,
    access,
    entrance,
    log,
    now: () => front.regime().now(here),
    carrier: door.carrier,
    codec: codecFor(version),
    client,
    catalog: front.catalog(principal),
    signal,
    headers,
    session,
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
