import { Pool } from 'undici';
import type { Era } from './target.ts';
import { stringAt } from './tools.ts';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const CLIENT = { name: 'bench', version: '1.0.0' };
const ENVELOPE = JSON.stringify({
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
});
const PATIENCE_MS = 60_000;

export type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Where requests of one session go, and with which headers. */
export interface Session {
  readonly path: string;
  readonly headers: Headers;
  /** Who waits for which answer, where all of them come on one stream (HTTP+SSE). */
  readonly waiting?: Map<number, (json: string) => void>;
}

/** A client that reads no more of an answer than it has to: it must never be what a run waits for. */
export class Client {
  readonly #era: Era;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #common: Headers;
  #id = 0;

  /** `connections`: most at once; HTTP+SSE takes one more for each session. */
  constructor(url: string, era: Era, options: { readonly connections: number; readonly headers: Headers }) {
    const { origin, pathname } = new URL(url);
    this.#era = era;
    this.#path = pathname;
    this.#pool = new Pool(origin, { connections: options.connections, headersTimeout: PATIENCE_MS });
    this.#common = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...options.headers,
    };
  }

  async open(): Promise<Session> {
    const common = { path: this.#path, headers: this.#common };
    if (this.#era === 'modern') {
      return common;
    }
    const session = this.#era === 'sse' ? await this.#stream() : common;
    const params = `"protocolVersion":"${LEGACY}","capabilities":{},"clientInfo":${JSON.stringify(CLIENT)}`;
    const { json, answer } = await this.#exchange(session, session.headers, 'initialize', params);
    const version = stringAt(JSON.parse(json), 'result', 'protocolVersion') ?? LEGACY;
    const id = answer.headers['mcp-session-id'];
    const opened = {
      ...session,
      headers: {
        ...session.headers,
        'mcp-protocol-version': version,
        ...(typeof id === 'string' ? { 'mcp-session-id': id } : {}),
      },
    };
    await this.#post(opened.path, opened.headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return opened;
  }

  /**
   * One request with these members as params; resolves with the JSON of the answer, from which the id is taken out.
   * `name` is that of what is called.
   */
  async ask(session: Session, method: string, members: string, name?: string): Promise<string> {
    if (this.#era !== 'modern') {
      return (await this.#exchange(session, session.headers, method, members)).json;
    }
    const headers = {
      ...session.headers,
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    };
    const params = `${members}${members === '' ? '' : ','}"_meta":${ENVELOPE}`;
    return (await this.#exchange(session, headers, method, params)).json;
  }

  /** Walks the list of tools to its end; resolves with how many there are and the texts of all pages. */
  async tools(session: Session): Promise<{ readonly count: number; readonly pages: readonly string[] }> {
    const pages: string[] = [];
    let count = 0;
    let cursor: string | undefined;
    do {
      const json = await this.list(session, cursor);
      const answer = JSON.parse(json) as { result?: { tools?: unknown[]; nextCursor?: string } };
      pages.push(json);
      count += answer.result?.tools?.length ?? 0;
      cursor = answer.result?.nextCursor;
    } while (cursor !== undefined);
    return { count, pages };
  }

  /** One page of the list of tools. */
  list(session: Session, cursor: string | undefined): Promise<string> {
    return this.ask(session, 'tools/list', cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)}`);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #exchange(
    session: Session,
    headers: Headers,
    method: string,
    params: string,
  ): Promise<{ readonly json: string; readonly answer: Answer }> {
    this.#id += 1;
    const id = this.#id;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${params}}}`;
    const later = session.waiting && this.#later(session.waiting, id);
    const answer = await this.#post(session.path, headers, body);
    const json = later === undefined || answer.status >= 400 ? jsonOf(answer) : await later;
    const marked = json.includes(`"id":${id},`) ? `"id":${id},` : `,"id":${id}`;
    if (answer.status >= 400 || !json.includes(marked)) {
      throw new Error(`status ${answer.status}: ${json.slice(0, 200)}`);
    }
    return { json: json.replace(marked, ''), answer };
  }

  #later(waiting: Map<number, (json: string) => void>, id: number): Promise<string> {
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve('no answer'), PATIENCE_MS);
      waiting.set(id, (json) => {
        clearTimeout(late);
        resolve(json);
      });
    });
  }

  /** The one stream of HTTP+SSE; its first event says where to post. */
  #stream(): Promise<Session> {
    const waiting = new Map<number, (json: string) => void>();
    const headers = { ...this.#common, accept: 'text/event-stream' };
    return new Promise((resolve, reject) => {
      let rest = '';
      const decoder = new TextDecoder();
      this.#pool.dispatch(
        { path: this.#path, method: 'GET', headers, bodyTimeout: 0 },
        {
          onRequestStart() {},
          onResponseStart: (_controller, status) => {
            if (status !== 200) {
              reject(new Error(`the stream was answered ${status}`));
            }
          },
          onResponseData: (_controller, chunk) => {
            rest += decoder.decode(chunk, { stream: true });
            const events = rest.split(/\r?\n\r?\n/);
            rest = events.pop() ?? '';
            for (const event of events) {
              const data = dataOf(event);
              if (/^event: ?endpoint/m.test(event)) {
                resolve({ path: data, headers: this.#common, waiting });
                continue;
              }
              const id = Number(/"id":(\d+)/.exec(data.slice(-40))?.[1] ?? /"id":(\d+)/.exec(data)?.[1]);
              waiting.get(id)?.(data);
              waiting.delete(id);
            }
          },
          onResponseEnd: () => reject(new Error('the stream has ended')),
          onResponseError: (_controller, thrown) => reject(thrown),
        },
      );
    });
  }

  #post(path: string, headers: Headers, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let status = 0;
      let answered: Answer['headers'] = {};
      this.#pool.dispatch(
        { path, method: 'POST', headers, body },
        {
          onRequestStart() {},
          onResponseStart: (_controller, code, given) => {
            status = code;
            answered = given;
          },
          onResponseData: (_controller, chunk) => {
            chunks.push(chunk);
          },
          onResponseEnd: () => resolve({ status, headers: answered, text: Buffer.concat(chunks).toString() }),
          onResponseError: (_controller, thrown) => reject(thrown),
        },
      );
    });
  }
}

/** The JSON of an answer, which may have come as the last event of a stream. */
function jsonOf({ headers, text }: Answer): string {
  return String(headers['content-type']).startsWith('text/event-stream')
    ? dataOf(text.slice(text.lastIndexOf('\ndata:') + 1))
    : text;
}

function dataOf(event: string): string {
  const at = event.indexOf('data:');
  const end = event.indexOf('\n', at);
  return event.slice(at + 5, end === -1 ? undefined : end).trim();
}
