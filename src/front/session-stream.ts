import { takesPriming } from '../protocol/legacy-features.ts';
import { addOutlet, removeOutlet } from './aside.ts';
import { callerOf } from './channel.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import type { HttpReply } from './http.ts';
import type { Standing } from './regime.ts';
import { homeOf, Replays } from './replay.ts';
import type { Session } from './sessions.ts';
import type { SseStream } from './sse-stream.ts';

export interface StreamRequest {
  readonly standing: Standing;
  readonly reply: HttpReply;
  /** CORS headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** `Last-Event-ID`: the last event of a broken stream that the client has. */
  readonly lastEvent: string | undefined;
}

/** The streams of a session that can be taken up again. */
export function replaysOf({ version, live }: Session, { regime, streams }: FrontOptions): Replays {
  const { settings } = regime();
  const home = live.afar?.home;
  live.replays ??= new Replays({ ...settings.streams, primes: takesPriming(version), home }, streams.kept);
  return live.replays;
}

/**
 * A GET of a legacy session: goes on with the stream that `lastEvent` belongs to, or is the session's own stream. An
 * event that this session does not know, for instance from before a restart, begins a new one as well. A stream that is
 * over and was read to its end is answered 204: the one answer that stops a client from coming back (WHATWG HTML, 9.2).
 */
export async function serveGet(front: FrontOptions, session: Session, request: StreamRequest): Promise<void> {
  const { lastEvent, reply, standing } = request;
  const { live } = session;
  const found = lastEvent === undefined ? undefined : live.replays?.find(lastEvent);
  if (found?.stream.overAfter(found.number) === true) {
    void reply.code(204).send();
    return;
  }
  front.streams.reserve(standing.principal);
  const home = lastEvent === undefined ? undefined : homeOf(lastEvent);
  if (found === undefined && lastEvent !== undefined && home !== undefined && live.afar?.isElsewhere(home)) {
    const distant = await live.afar.stream(home, lastEvent);
    if (distant.state === 'over') {
      void reply.code(204).send();
      return;
    }
    if (distant.state === 'open') {
      // Whoever has the stream knows what it is; here it is a connection like any other.
      const connection = connect(front, session, request, () => connection.end());
      connection.onClose(distant.leave);
      distant.begin(connection);
      return;
    }
  }
  // A call that was taken up again ends with its result, as every call under way does at a shutdown.
  const isCall = found !== undefined && !live.outlets.has(found.stream);
  const connection: SseStream = connect(front, session, request, () =>
    isCall ? undefined : connection.end(),
  );
  if (found === undefined) {
    beginOwn(front, session, request, connection);
  } else {
    found.stream.resume(connection, found.number);
  }
}

/** The response as an event stream. `end` ends it where it has to end early. */
function connect(
  front: FrontOptions,
  { live }: Session,
  { reply, headers, standing }: StreamRequest,
  end: () => void,
): SseStream {
  const connection = openStream(reply, headers, front, standing.log);
  const remove = front.streams.add(end, standing);
  connection.onClose(() => {
    live.lastSeen = Date.now();
    remove();
  });
  return connection;
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
