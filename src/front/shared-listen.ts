import type { EndSignal } from '../base/ender.ts';
import { notification, type RpcId } from '../protocol/json-rpc.ts';
import type { ListenStream } from './listen-route.ts';
import type { Outlet } from './outlet.ts';

/**
 * One `subscriptions/listen` on a channel that it shares with everything else. There is no stream to close: the client
 * ends it with `notifications/cancelled` and then hears nothing more of it, and so does the gateway, after the result
 * (spec 2026-07-28: transports/stdio and patterns/cancellation).
 */
export class SharedListen implements ListenStream {
  readonly #outlet: Outlet;
  readonly #id: RpcId;
  #open = true;
  #afterwards: (() => void)[] = [];

  /** `cancelled` aborts when the client ends it. */
  constructor(outlet: Outlet, id: RpcId, cancelled: EndSignal) {
    this.#outlet = outlet;
    this.#id = id;
    cancelled.addEventListener('abort', () => this.#close(), { once: true });
  }

  get connected(): boolean {
    return this.#open && this.#outlet.connected;
  }

  send(json: string): boolean {
    return this.#open && this.#outlet.send(json);
  }

  end(): void {
    if (this.#open) {
      this.#outlet.send(JSON.stringify(notification('notifications/cancelled', { requestId: this.#id })));
      this.#close();
    }
  }

  onClose(run: () => void): void {
    if (this.#open) {
      this.#afterwards.push(run);
    } else {
      run();
    }
  }

  #close(): void {
    this.#open = false;
    for (const run of this.#afterwards.splice(0)) {
      run();
    }
  }
}
