/** A way to a client for JSON-RPC messages: an event stream, one that can be taken up again, or a pipe. */
export interface Outlet {
  /** False while nobody reads. What is sent then is heard later, where the way can be taken up again. */
  readonly connected: boolean;
  /** One message as JSON text. False where it will never be heard: whoever waited for it is gone. */
  send(json: string): boolean;
  /** Nothing more comes. Idempotent. */
  end(): void;
}
