import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { GatewayError } from '../base/errors.ts';
import { after } from '../base/time.ts';
import { fromNetwork } from './foreign-errors.ts';

interface StreamEvent {
  /** 'message' where the stream names none. */
  readonly type: string;
  readonly data: string;
}

/** Where a stream stands, for opening it again. Written while it is read. */
export interface StreamPosition {
  /** Absent where the stream gave none, took it back with an empty one, or gave one that no header can carry. */
  lastEventId?: string;
  /** ms that the server asks to wait before the stream is opened again. */
  retryMs?: number;
}

export interface EventReading {
  readonly upstream: string;
  /** Bounds one event, not the stream. */
  readonly maxEventBytes: number;
  readonly position: StreamPosition;
  /** Returns true when nothing more is needed of the stream: what follows is read for a moment, then cut. */
  readonly event: (event: StreamEvent) => boolean;
}

/** After the last event of use servers end the stream at once; a connection that does not is not worth keeping. */
const LINGER_MS = 1_000;
/** Longest event id that is sent back; servers take headers of some KiB in all. */
const LONGEST_EVENT_ID = 4_096;
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Reads an event stream to its end. Resolves when it ended in order or is no longer needed; rejects with UPSTREAM_LOST
 * when it broke, UPSTREAM_TOO_LARGE for an event past the bound, UPSTREAM_NOT_MCP for something else under this content
 * type. Bytes are decoded across chunks, so a character or a line end split between two arrives whole (C-029).
 */
export async function readEvents(body: Readable, reading: EventReading): Promise<void> {
  const decoder = new StringDecoder('utf8');
  const events = createEvents(reading);
  let linger = () => {};
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (events.done) {
        continue;
      }
      events.feed(decoder.write(chunk));
      if (events.done) {
        linger = after(LINGER_MS, () => body.destroy());
      }
    }
  } catch (thrown) {
    if (!events.done) {
      throw fromNetwork(thrown, { upstream: reading.upstream, sent: true });
    }
  } finally {
    linger();
  }
}

interface Events {
  feed(text: string): void;
  readonly done: boolean;
}

function createEvents(reading: EventReading): Events {
  const { upstream, maxEventBytes, position } = reading;
  let done = false;
  let begun = false;
  let overflow = false;
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onId: (id) => {
      if (id.length <= LONGEST_EVENT_ID && HEADER_SAFE.test(id)) {
        position.lastEventId = id;
      } else {
        delete position.lastEventId;
      }
    },
    onRetry: (ms) => {
      position.retryMs = ms;
    },
    onError: (error) => {
      // Unknown fields are to be ignored (HTML standard, event stream interpretation); a full buffer is the end.
      overflow ||= error.type === 'max-buffer-size-exceeded';
    },
    onEvent: ({ event, data }) => {
      overflow ||= data.length > maxEventBytes;
      if (!done && !overflow) {
        done = reading.event({ type: event ?? 'message', data });
      }
    },
  });
  return {
    get done() {
      return done;
    },
    feed(text) {
      if (!begun) {
        const start = text.replace(/^\uFEFF/, '').trimStart();
        begun = start !== '';
        // A page or a bare JSON text sent as an event stream holds no event, and would be waited for without end.
        if (start.startsWith('<') || start.startsWith('{')) {
          throw new GatewayError('UPSTREAM_NOT_MCP', {
            upstream,
            logged: 'its event stream holds no events',
          });
        }
      }
      parser.feed(text);
      if (overflow) {
        throw new GatewayError('UPSTREAM_TOO_LARGE', { upstream });
      }
    },
  };
}
