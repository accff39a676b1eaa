import { isObject, type JsonObject } from '../../src/base/json.ts';
import { createWaits } from './waits.ts';

/** A method, or a test of the whole message. */
export type MessageMatch = string | ((message: JsonObject) => boolean);

/** Messages of one stream, read in order: `next` skips what does not match and never gives the same one twice. */
export interface MessageQueue {
  readonly all: readonly JsonObject[];
  push(message: unknown): void;
  next(match?: MessageMatch, timeout?: number): Promise<JsonObject>;
  /** How many arrived so far, read or not. */
  count(match?: MessageMatch): number;
  /** After this `next` rejects at once where nothing that matches is left. */
  end(reason: string): void;
}

function fits(match: MessageMatch | undefined): (message: JsonObject) => boolean {
  if (match === undefined) {
    return () => true;
  }
  return typeof match === 'string' ? (message) => message['method'] === match : match;
}

export function createMessageQueue(name: string): MessageQueue {
  const all: JsonObject[] = [];
  const waits = createWaits();
  let read = 0;
  let ended: string | undefined;
  const words = () => all.map((message) => String(message['method'] ?? 'response')).join(', ') || 'nothing';
  return {
    all,
    push(message) {
      all.push(isObject(message) ? message : { $invalid: message });
      waits.check();
    },
    async next(match, timeout) {
      const wanted = typeof match === 'string' ? match : 'a matching message';
      const found = await waits.until(
        () => {
          const at = all.findIndex((message, index) => index >= read && fits(match)(message));
          return at < 0 ? (ended === undefined ? undefined : null) : at;
        },
        () => `${name}: no ${wanted} came; there was ${words()}`,
        timeout,
      );
      const message = found === null ? undefined : all[found];
      if (found === null || message === undefined) {
        throw new Error(`${name} ended (${ended}) without ${wanted}; there was ${words()}`);
      }
      read = found + 1;
      return message;
    },
    count: (match) => all.filter(fits(match)).length,
    end(reason) {
      ended ??= reason;
      waits.check();
    },
  };
}
