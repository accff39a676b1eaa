import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'crowd', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const INITIALIZE = {
  protocolVersion: LEGACY,
  capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
  clientInfo: { name: 'crowd', version: '1.0.0' },
};

type Headers = Readonly<Record<string, string>>;

/** The clients: one process plays them all, so they do no more than count what they are told. */
export class Hall {
  readonly #url: string;
  /** For requests; streams have a connection each. */
  readonly #few: Agent;
  readonly #many = new Agent({ keepAlive: true });
  readonly #streams: ClientRequest[] = [];
  /** Changes that were told before this one. */
  #round = 0;
  #told = 0;
  #firstAt = 0;
  #lastAt = 0;
  #allTold: (() => void) | undefined;

  constructor(url: string, atOnce: number) {
    this.#url = url;
    this.#few = new Agent({ keepAlive: true, maxSockets: atOnce });
  }

  /** Everybody is to be told once more. */
  again(): void {
    this.#round += 1;
    this.#told = 0;
  }

  get size(): number {
    return this.#streams.length;
  }

  get told(): number {
    return this.#told;
  }

  get firstAt(): number {
    return this.#firstAt;
  }

  get lastAt(): number {
    return this.#lastAt;
  }

  async listTools(user: number): Promise<void> {
    await this.#post(modern(user, 'tools/list'), { method: 'tools/list', params: { _meta: ENVELOPE } });
  }

  /** Opens a session and uses it once; resolves with its id. */
  async session(user: number): Promise<string> {
    const { headers } = await this.#post(common(user), { method: 'initialize', params: INITIALIZE });
    const id = String(headers['mcp-session-id']);
    await this.#post(legacy(user, id), { method: 'ping' });
    return id;
  }

  /** Resolves when the subscription is acknowledged. */
  listen(user: number): Promise<void> {
    const params = { notifications: { toolsListChanged: true }, _meta: ENVELOPE };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params });
    return this.#open('POST', modern(user, 'subscriptions/listen'), body);
  }

  /** Resolves when the response has begun. */
  stream(session: string, user: number): Promise<void> {
    return this.#open('GET', { ...legacy(user, session), accept: 'text/event-stream' }, undefined);
  }

  untilAllTold(): Promise<void> {
    return new Promise((resolve) => {
      this.#allTold = resolve;
      this.#check();
    });
  }

  leave(): void {
    for (const stream of this.#streams) {
      stream.destroy();
    }
    this.#many.destroy();
    this.#few.destroy();
  }

  #check(): void {
    if (this.#told >= this.size) {
      this.#allTold?.();
    }
  }

  #open(method: string, headers: Headers, body: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { method, headers, agent: this.#many }, (response) => {
        let isOpen = method === 'GET';
        let heard = -1;
        if (response.statusCode !== 200) {
          reject(new Error(`a stream was answered ${response.statusCode}`));
        } else if (isOpen) {
          resolve();
        }
        response.setEncoding('latin1').on('data', (text: string) => {
          if (!isOpen && text.includes('acknowledged')) {
            isOpen = true;
            resolve();
          }
          if (heard < this.#round && text.includes('tools/list_changed')) {
            heard = this.#round;
            this.#heard();
          }
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
      this.#streams.push(sent);
    });
  }

  #heard(): void {
    this.#told += 1;
    this.#lastAt = performance.now();
    if (this.#told === 1) {
      this.#firstAt = this.#lastAt;
    }
    this.#check();
  }

  #post(headers: Headers, message: object): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { method: 'POST', headers, agent: this.#few }, (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(response)
            : reject(new Error(`answered ${response.statusCode}: ${JSON.stringify(message)}`)),
        );
      });
      sent.on('error', reject);
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
    });
  }
}

function common(user: number): Headers {
  return {
    authorization: `Bearer ${keyOf(user)}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
}

function modern(user: number, method: string): Headers {
  return { ...common(user), 'mcp-protocol-version': MODERN, 'mcp-method': method };
}

function legacy(user: number, session: string): Headers {
  return { ...common(user), 'mcp-protocol-version': LEGACY, 'mcp-session-id': session };
}

/** What a user signs in with. */
export function keyOf(user: number): string {
  return `key-of-one-of-the-crowd-${user}`;
}
