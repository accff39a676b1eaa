import { type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import type { RpcErrorObject, RpcId } from '../../src/protocol/json-rpc.ts';
import { createMessageQueue, type MessageMatch } from './message-queue.ts';

export interface WireRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly agent: HttpAgent;
  /** Id of the JSON-RPC request inside, to find its response. */
  readonly id?: RpcId;
  onMessage?(message: JsonObject): void;
}

/** One server-sent event as it came; `id` and `retry` only where the server gave them. */
interface WireEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** The whole answer to one HTTP request. */
export interface Answer {
  /** 0 where the client went away before there was one. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text: JSON, SSE or whatever it was. */
  readonly text: string;
  /** Every JSON-RPC message in it, in order. */
  readonly messages: readonly JsonObject[];
  readonly events: readonly WireEvent[];
  /** `retry` and comments of the SSE stream. */
  readonly retry: number | undefined;
  readonly comments: number;
  /** Result or error of the request itself. */
  readonly result?: JsonObject;
  readonly error?: RpcErrorObject;
  /** How it ended: to its end, by the client, or by a broken connection. */
  readonly ended: 'whole' | 'client' | 'broken';
}

/** One HTTP request on its way. */
export interface Exchange {
  readonly id: RpcId | undefined;
  /** Resolves when status and headers are there. */
  readonly opened: Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>> }>;
  /** Messages that came so far. */
  readonly messages: readonly JsonObject[];
  next(match?: MessageMatch, timeout?: number): Promise<JsonObject>;
  count(match?: MessageMatch): number;
  /** Resolves when the answer is over, however it ended; rejects only where there was no answer at all. */
  readonly done: Promise<Answer>;
  /** Closes the connection, as a client does that has lost interest. */
  abort(): void;
}

/** Sends one HTTP request and reads the answer as it comes, JSON or SSE. */
export function exchange(url: URL, wire: WireRequest): Exchange {
  const name = `${wire.method} ${url.pathname}`;
  const queue = createMessageQueue(name);
  let byClient = false;
  let open: (head: { status: number; headers: Record<string, string> }) => void = () => undefined;
  let refuse: (error: Error) => void = () => undefined;
  const opened = new Promise<{ status: number; headers: Record<string, string> }>((resolve, reject) => {
    open = resolve;
    refuse = reject;
  });
  const request = httpRequest(url, { method: wire.method, headers: wire.headers, agent: wire.agent });

  const done = new Promise<Answer>((resolve, reject) => {
    request.on('error', (error) => {
      if (byClient) {
        resolve({ ...nothing(), ended: 'client' });
        open({ status: 0, headers: {} });
      } else {
        const lost = new Error(`${name}: no answer (${error.message})`, { cause: error });
        refuse(lost);
        reject(lost);
      }
      queue.end('no answer');
    });
    request.on('response', (response) => {
      const head = { status: response.statusCode ?? 0, headers: plainHeaders(response) };
      open(head);
      readBody(response, head, wire, queue, () => byClient).then((answer) => {
        queue.end(answer.ended);
        resolve(answer);
      }, reject);
    });
  });
  // A test that looks at one of them only must not fail for the other.
  opened.catch(() => undefined);
  done.catch(() => undefined);
  request.end(wire.body);

  return {
    id: wire.id,
    opened,
    messages: queue.all,
    next: queue.next,
    count: queue.count,
    done,
    abort() {
      byClient = true;
      request.destroy();
    },
  };
}

const nothing = (): Omit<Answer, 'ended'> => ({
  status: 0,
  headers: {},
  text: '',
  messages: [],
  events: [],
  retry: undefined,
  comments: 0,
});

function plainHeaders(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headers).map(([header, value]) => [header, String(value)]),
  );
}

async function readBody(
  response: IncomingMessage,
  head: { readonly status: number; readonly headers: Record<string, string> },
  wire: WireRequest,
  queue: { push(message: unknown): void; readonly all: readonly JsonObject[] },
  byClient: () => boolean,
): Promise<Answer> {
  const events: WireEvent[] = [];
  let retry: number | undefined;
  let comments = 0;
  let text = '';
  const take = (value: unknown) => {
    for (const message of Array.isArray(value) ? value : [value]) {
      queue.push(message);
      if (isObject(message)) {
        wire.onMessage?.(message);
      }
    }
  };
  const parser = createParser({
    onEvent(event) {
      events.push({
        data: event.data,
        ...(event.id === undefined ? {} : { id: event.id }),
        ...(event.event === undefined ? {} : { event: event.event }),
      });
      if (event.data !== '' && (event.event ?? 'message') === 'message') {
        take(JSON.parse(event.data));
      }
    },
    onRetry(ms) {
      retry = ms;
    },
    onComment() {
      comments += 1;
    },
  });
  const streamed = (head.headers['content-type'] ?? '').startsWith('text/event-stream');
  response.setEncoding('utf8');
  let ended: Answer['ended'] = 'whole';
  try {
    for await (const chunk of response) {
      text += chunk;
      if (streamed) {
        parser.feed(chunk);
      }
    }
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw error;
    }
    ended = byClient() ? 'client' : 'broken';
  }
  if (
    !streamed &&
    (head.headers['content-type'] ?? '').includes('json') &&
    text !== '' &&
    ended === 'whole'
  ) {
    take(JSON.parse(text));
  }
  // An error whose request could not be read has no id; any other id is somebody else's answer.
  const own = queue.all.find(
    (message) => isResponse(message) && (message['id'] === wire.id || (message['id'] ?? null) === null),
  ) as { readonly result?: JsonObject; readonly error?: RpcErrorObject } | undefined;
  return {
    ...head,
    text,
    messages: queue.all,
    events,
    retry,
    comments,
    ended,
    ...(own?.result === undefined ? {} : { result: own.result }),
    ...(own?.error === undefined ? {} : { error: own.error }),
  };
}

const isResponse = (message: JsonObject): boolean =>
  !('method' in message) && ('result' in message || 'error' in message);
