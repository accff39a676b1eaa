import { after } from '../base/time.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';

/** Progress notices that may pass in one go, and the time in ms after which one more may (case C-060). */
const BURST = 50;
const APART_MS = 50;

/**
 * Lets ordinary progress pass as it comes. Of a flood the newest notice passes once in a while, and the last one before
 * the result. Other notices pass in order.
 */
export class Thinner {
  readonly #send: (notice: RpcNotification) => void;
  #allowed = BURST;
  #countedAt = Date.now();
  #waiting: RpcNotification | undefined;
  #cancel: (() => void) | undefined;
  #finished = false;

  constructor(send: (notice: RpcNotification) => void) {
    this.#send = send;
  }

  notify(notice: RpcNotification): void {
    if (this.#finished) {
      return;
    }
    if (notice.method !== 'notifications/progress') {
      this.#pass();
      this.#send(notice);
      return;
    }
    this.#waiting = notice;
    if (this.#take()) {
      this.#pass();
    } else {
      this.#cancel ??= after(APART_MS, () => this.#due());
    }
  }

  /** Before the result: what still waits is told now, and nothing after it. */
  finish(): void {
    this.#cancel?.();
    this.#pass();
    this.#finished = true;
  }

  #due(): void {
    this.#cancel = undefined;
    if (this.#waiting !== undefined && this.#take()) {
      this.#pass();
    }
  }

  #take(): boolean {
    const now = Date.now();
    const earned = Math.floor((now - this.#countedAt) / APART_MS);
    this.#allowed = Math.min(BURST, this.#allowed + earned);
    this.#countedAt += earned * APART_MS;
    if (this.#allowed === 0) {
      return false;
    }
    this.#allowed -= 1;
    return true;
  }

  #pass(): void {
    const notice = this.#waiting;
    this.#waiting = undefined;
    if (notice !== undefined) {
      this.#send(notice);
    }
  }
}
