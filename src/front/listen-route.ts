import type { JsonObject } from '../base/json.ts';
import { notification, type RpcId, type RpcRequest, result } from '../protocol/json-rpc.ts';
import { honoured, wantedChanges } from '../protocol/listen-filter.ts';
import { META } from '../protocol/meta.ts';
import type { Change } from '../protocol/model.ts';
import type { RequestContext } from '../relay/context.ts';
import { attend } from './attendance.ts';
import type { FrontOptions } from './front.ts';
import type { Outlet } from './outlet.ts';
import type { Standing } from './regime.ts';

/** The stream of one `subscriptions/listen`. */
export interface ListenStream extends Outlet {
  /** Runs when it is over, whoever ended it. */
  onClose(run: () => void): void;
}

/** Who wants to listen: `context` is that of the request, `standing` what outlives it. */
export interface ListenRequest {
  readonly front: FrontOptions;
  readonly standing: Standing;
  readonly context: RequestContext;
}

/**
 * `subscriptions/listen`: the acknowledgement first, then what was asked for, each with the subscription id in its own
 * type, until the client closes or the gateway ends it with a result (spec 2026-07-28: patterns/subscriptions).
 * `open` begins the stream, when there is something to say on it. Resolves with how to end it gracefully.
 */
export async function serveListen(
  { front, standing, context }: ListenRequest,
  message: RpcRequest,
  open: () => ListenStream,
): Promise<() => void> {
  const filter = message.params?.['notifications'];
  const wants = wantedChanges(filter);
  (await front.allowance.request(context.principal))();
  const further = await front.relay.honour(filter, context);
  front.streams.reserve(context.principal);
  const served = (change: Change) => front.hello.offers(context, change);
  const stream = open();
  const tell = (method: string, params: JsonObject = {}) => {
    stream.send(JSON.stringify(notification(method, { ...params, ...subscriptionMeta(message.id) })));
  };
  tell('notifications/subscriptions/acknowledged', {
    notifications: { ...honoured(wants, served), ...further.filter },
  });
  stream.onClose(further.start(tell));
  const { principal, codec, client, session } = context;
  stream.onClose(
    attend(front, {
      caller: { principal, codec, client, session },
      standing,
      wants,
      tell: (change) => tell(`notifications/${change}/list_changed`),
    }),
  );
  const farewell = () => {
    const { serverInfo } = front.hello;
    const ended = context.codec.encodeResult(message.method, subscriptionMeta(message.id), { serverInfo });
    stream.send(JSON.stringify(result(message.id, ended)));
    stream.end();
  };
  stream.onClose(front.streams.add(farewell, standing));
  return farewell;
}

function subscriptionMeta(id: RpcId): JsonObject {
  return { _meta: { [META.subscription]: id } };
}
