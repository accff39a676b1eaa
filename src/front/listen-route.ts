import type { JsonObject } from '../base/json.ts';
import { notification, type RpcId, type RpcRequest, result } from '../protocol/json-rpc.ts';
import { honoured, wantedChanges } from '../protocol/listen-filter.ts';
import { META } from '../protocol/meta.ts';
import type { Change } from '../protocol/model.ts';
import type { RequestContext } from '../relay/context.ts';
import type { FrontOptions } from './front.ts';
import type { Outlet } from './outlet.ts';

/** The stream of one `subscriptions/listen`. */
export interface ListenStream extends Outlet {
  /** Runs when it is over, whoever ended it. */
  onClose(run: () => void): void;
}

/**
 * `subscriptions/listen`: the acknowledgement first, then what was asked for, each with the subscription id in its own
 * type, until the client closes or the gateway ends it with a result (spec 2026-07-28: patterns/subscriptions).
 * `open` begins the stream, when there is something to say on it. Resolves with how to end it gracefully.
 */
export async function serveListen(
  front: FrontOptions,
  message: RpcRequest,
  context: RequestContext,
  open: () => ListenStream,
): Promise<() => void> {
  const filter = message.params?.['notifications'];
  const wants = wantedChanges(filter);
  (await front.allowance.request(context.principal))();
  const further = await front.relay.honour(filter, context);
  front.streams.reserve(context.principal);
  const served = (change: Change) => front.hello.offers(context.entrance, context.access, change);
  const stream = open();
  const tell = (method: string, params: JsonObject = {}) => {
    stream.send(JSON.stringify(notification(method, { ...params, ...subscriptionMeta(message.id) })));
  };
  tell('notifications/subscriptions/acknowledged', {
    notifications: { ...honoured(wants, served), ...further.filter },
  });
  stream.onClose(further.start(tell));
  stream.onClose(
    front.hub.subscribe({
      principal: context.principal.key,
      wants,
      sees: (swap) => front.visibleChanges(context, swap),
      notify: (change) => tell(`notifications/${change}/list_changed`),
    }),
  );
  const { principal, codec, client, session } = context;
  stream.onClose(front.attend({ principal, codec, client, session }));
  const farewell = () => {
    const { serverInfo } = front.hello;
    const ended = context.codec.encodeResult(message.method, subscriptionMeta(message.id), { serverInfo });
    stream.send(JSON.stringify(result(message.id, ended)));
    stream.end();
  };
  stream.onClose(front.streams.add(farewell, context.principal));
  return farewell;
}

function subscriptionMeta(id: RpcId): JsonObject {
  return { _meta: { [META.subscription]: id } };
}
