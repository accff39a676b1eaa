import type { JsonParts } from '../base/long-text.ts';
import type { HttpReply } from './http.ts';
import type { Unread } from './unread.ts';

/** The answer to a POST that is at hand whole, as JSON. */
export interface WholeAnswer {
  readonly reply: HttpReply;
  readonly status: number;
  /** Besides those that the reply has already. */
  readonly headers: Readonly<Record<string, string>>;
  readonly json: string | JsonParts;
  readonly unread: Unread;
}

/** An answer in parts that is no longer is put together: each part costs more than to copy it. */
const AT_ONCE = 65_536;

let waiting: WholeAnswer[] = [];

/**
 * Answers in one go, without the framework, which has nothing to add. Whatever is at hand in one turn of the event loop is
 * written at its end: then the first write wakes whoever reads, and the others cost less, by an eighth of a whole call.
 */
export function answerWhole(answer: WholeAnswer): void {
  answer.reply.hijack();
  if (waiting.push(answer) === 1) {
    setImmediate(writeAll);
  }
}

function writeAll(): void {
  const all = waiting;
  waiting = [];
  for (const answer of all) {
    try {
      write(answer);
    } catch (thrown) {
      answer.reply.request.log.error({ err: thrown }, 'an answer could not be written');
      answer.reply.raw.destroy();
    }
  }
}

function write({ reply, status, headers, json, unread }: WholeAnswer): void {
  const { raw } = reply;
  const length = typeof json === 'string' ? Buffer.byteLength(json) : json.byteLength;
  raw.writeHead(status, {
    ...reply.getHeaders(),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': length,
  });
  if (typeof json === 'string') {
    raw.end(json);
  } else if (length <= AT_ONCE) {
    raw.end(json.toBuffer());
  } else {
    raw.cork();
    for (const part of json) {
      raw.write(part);
    }
    raw.end();
    raw.uncork();
  }
  unread.answer(raw, length, reply.request.log);
}
