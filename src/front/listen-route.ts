import type { FastifyReply } from 'fastify';
import type { JsonObject } from '../base/json.ts';
import type { Listener } from '../changes/hub.ts';
import { notification, type RpcId, type RpcRequest, result } from '../protocol/json-rpc.ts';
import { honoured, wantedChanges } from '../protocol/listen-filter.ts';
import { META } from '../protocol/meta.ts';
import { CHANGES, type Change } from '../protocol/model.ts';
import type { RequestContext } from '../relay/context.ts';
import { openStream } from './exchange.ts';
import type { FrontOptions } from './front.ts';
import type { Session } from './sessions.ts';
import type { SseStream } from './sse-stream.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * `subscriptions/listen`: the acknowledgement first, then what was asked for, each with the subscription id in its own
 * type, until the client closes or the gateway ends it with a result (spec 2026-07-28: patterns/subscriptions).
 */
export async function serveListen(
  front: FrontOptions,
  message: RpcRequest,
  context: RequestContext,
  reply: FastifyReply,
  headers: Headers,
): Promise<void> {
  const filter = message.params?.['notifications'];
  const wants = wantedChanges(filter);
  const further = await front.relay.honour(filter, context);
  front.streams.reserve();
  const served = (change: Change) => front.hello.offers(context.entrance, change);
  const stream = openStream(reply, headers, front.settings.streams, context.log);
  const tell = (method: string, params: JsonObject = {}) =>
    stream.send(JSON.stringify(notification(method, { ...params, ...subscriptionMeta(message.id) })));
  tell('notifications/subscriptions/acknowledged', {
    notifications: { ...honoured(wants, served), ...further.filter },
  });
  reply.raw.on('close', further.start(tell));
  attach(front, reply, stream, {
    listener: {
      wants,
      sees: (swap) => front.visibleChanges(context.entrance, swap),
      notify: (change) => tell(`notifications/${change}/list_changed`),
    },
    farewell: () => {
      const { serverInfo } = front.hello;
      const ended = context.codec.encodeResult(message.method, subscriptionMeta(message.id), { serverInfo });
      stream.send(JSON.stringify(result(message.id, ended)));
    },
  });
}

/** The standalone stream of a legacy session. It carries every list change; a session with several hears on its newest. */
export function serveSessionStream(
  front: FrontOptions,
  session: Session,
  context: Pick<RequestContext, 'entrance' | 'log'>,
  reply: FastifyReply,
  headers: Headers,
): void {
  front.streams.reserve();
  const { streams } = session.live;
  const stream = openStream(reply, headers, front.settings.streams, context.log);
  streams.add(stream);
  reply.raw.on('close', () => {
    streams.delete(stream);
    session.live.lastSeen = Date.now();
  });
  attach(front, reply, stream, {
    listener: {
      wants: new Set(CHANGES),
      sees: (swap) => front.visibleChanges(context.entrance, swap),
      notify: (change) => {
        if ([...streams].at(-1) === stream) {
          stream.send(JSON.stringify(notification(`notifications/${change}/list_changed`)));
        }
      },
    },
    farewell: () => {},
  });
}

function attach(
  front: FrontOptions,
  reply: FastifyReply,
  stream: SseStream,
  about: { listener: Listener; farewell: () => void },
): void {
  const unsubscribe = front.hub.subscribe(about.listener);
  const remove = front.streams.add(stream, about.farewell);
  reply.raw.on('close', () => {
    unsubscribe();
    remove();
  });
}

function subscriptionMeta(id: RpcId): JsonObject {
  return { _meta: { [META.subscription]: id } };
}
