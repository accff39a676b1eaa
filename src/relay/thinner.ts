import { after } from '../base/time.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';

/** Shortest time between two progress notices of one request, in ms: nobody reads faster, and clients choke (C-060). */
const APART_MS = 50;

/** Lets the first progress notice pass at once, then at most one in a while, the newest. Other notices pass in order. */
export class Thinner {
  readonly #send: (notice: RpcNotification) => void;
  #waiting: RpcNotification | undefined;
  #cancel: (() => void) | undefined;

  constructor(send: (notice: RpcNotification) => void) {
    this.#send = send;
  }

  notify(notice: RpcNotification): void {
    if (notice.method !== 'notifications/progress') {
      this.#pass();
      this.#send(notice);
      return;
    }
    this.#waiting = notice;
    if (this.#cancel === undefined) {
      this.#pass();
      this.#cancel = after(APART_MS, () => this.#due());
    }
  }

  /** Before the result: what still waits is told now, and nothing after it. */
  finish(): void {
    this.#cancel?.();
    this.#cancel = () => {};
    this.#pass();
  }

  #due(): void {
    this.#cancel = this.#waiting === undefined ? undefined : after(APART_MS, () => this.#due());
    this.#pass();
  }

  #pass(): void {
    const notice = this.#waiting;
    this.#waiting = undefined;
    if (notice !== undefined) {
      this.#send(notice);
    }
  }
}
