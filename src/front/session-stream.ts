import type { FastifyReply } from 'fastify';
import { takesPriming } from '../protocol/legacy-features.ts';
import { addOutlet, removeOutlet } from './aside.ts';
import { callerOf } from './channel.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import type { Standing } from './regime.ts';
import { Replays } from './replay.ts';
import type { Session } from './sessions.ts';
import type { SseStream } from './sse-stream.ts';

export interface StreamRequest {
  readonly standing: Standing;
  readonly reply: FastifyReply;
  /** CORS headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** `Last-Event-ID`: the last event of a broken stream that the client has. */
  readonly lastEvent: string | undefined;
}

/** The streams of a session that can be taken up again. */
export function replaysOf({ version, live }: Session, { regime, streams }: FrontOptions): Replays {
  const { settings } = regime();
  live.replays ??= new Replays({ ...settings.streams, primes: takesPriming(version) }, streams.kept);
  return live.replays;
}

/**
 * A GET of a legacy session: goes on with the stream that `lastEvent` belongs to, or is the session's own stream. An
 * event that this session does not know, for instance from before a restart, begins a new one as well. A stream that is
 * over and was read to its end is answered 204: the one answer that stops a client from coming back (WHATWG HTML, 9.2).
 */
export function serveGet(front: FrontOptions, session: Session, request: StreamRequest): void {
  const { lastEvent, reply, standing } = request;
  const found = lastEvent === undefined ? undefined : session.live.replays?.find(lastEvent);
  if (found?.stream.overAfter(found.number) === true) {
    void reply.code(204).send();
    return;
  }
  front.streams.reserve(standing.principal);
  const connection = openStream(reply, request.headers, front, standing.log);
  // A call that was taken up again ends with its result, as every call under way does at a shutdown.
  const isCall = found !== undefined && !session.live.outlets.has(found.stream);
  const remove = front.streams.add(() => (isCall ? undefined : connection.end()), standing);
  connection.onClose(() => {
    session.live.lastSeen = Date.now();
    remove();
  });
  if (found === undefined) {
    beginOwn(front, session, request, connection);
  } else {
    found.stream.resume(connection, found.number);
  }
}

/** A new stream for what belongs to no request. The broken ones that nobody has come back for are over then. */
function beginOwn(
  front: FrontOptions,
  session: Session,
  { standing }: StreamRequest,
  connection: SseStream,
): void {
  const { outlets } = session.live;
  const stream = replaysOf(session, front).open(() => removeOutlet(session, stream));
  stream.begin(connection);
  addOutlet(front, session, { caller: callerOf(front, standing.principal, session), standing }, stream);
  for (const outlet of [...outlets].filter((other) => other !== stream && !other.connected)) {
    outlet.end();
    removeOutlet(session, outlet);
  }
}
