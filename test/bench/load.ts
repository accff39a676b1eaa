import { Pool } from 'undici';
import { sampleText, stringAt } from './tools.ts';
import { machineBusy, usage } from './usage.ts';

/**
 * `node load.ts JSON`: callers that each wait for their answer and call again. Every echo has to come back byte for byte
 * and every list has to be complete; anything else counts as an error. Prints {@link Measured} as JSON.
 */
export interface Load {
  readonly url: string;
  readonly era: 'modern' | 'legacy';
  /** A call of the echo tool with so many bytes, or the list that has to hold so many tools. */
  readonly ask: { readonly call: string; readonly bytes: number } | { readonly list: number };
  readonly callers: number;
  /** s */
  readonly warmUp: number;
  readonly duration: number;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Root of the processes that are measured. */
  readonly pid: number;
  /** What is not counted among them: see {@link usage}. */
  readonly except: string;
  /** Roots of all processes of this run but the client itself. */
  readonly ours: readonly number[];
}

export interface Measured {
  readonly perSecond: number;
  /** ms */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  /** ms of processor time of the target for one request. */
  readonly cpu: number;
  /** MiB, the most that was seen. */
  readonly rss: number;
  readonly errors: number;
  readonly firstError?: string;
  /** Cores that the machine spent on anything but this run. */
  readonly others: number;
}

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const CLIENT = { name: 'bench', version: '1.0.0' };
const ENVELOPE = JSON.stringify({
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
});
/** What some servers need a moment for after an error; a caller that spins would measure itself. */
const AFTER_ERROR_MS = 20;
const SESSIONS = 16;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function post(pool: Pool, path: string, headers: Record<string, string>, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let answered: Answer['headers'] = {};
    const done = (...more: readonly Buffer[]) =>
      resolve({ status, headers: answered, text: Buffer.concat([...chunks, ...more]).toString() });
    pool.dispatch(
      { path, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code, given) {
          status = code;
          answered = given;
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd: () => done(),
        onResponseError: (_controller, thrown) => reject(thrown),
      },
    );
  });
}

/** The JSON of an answer, which may have come as the one event of a stream. */
function jsonOf({ headers, text }: Answer): string {
  return String(headers['content-type']).startsWith('text/event-stream')
    ? text.slice(text.indexOf('data:') + 5, text.indexOf('\n', text.indexOf('data:'))).trim()
    : text;
}

class Client {
  readonly #load: Load;
  readonly #pool: Pool;
  readonly #path: string;
  readonly #common: Record<string, string>;
  #id = 0;
  /** An answer that differs from this one in its id alone is right too, and is not parsed again. */
  #known = '';

  constructor(load: Load) {
    const url = new URL(load.url);
    this.#load = load;
    this.#path = url.pathname;
    this.#pool = new Pool(url.origin, { connections: load.callers, headersTimeout: 60_000 });
    this.#common = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...load.headers,
    };
  }

  /** The headers of one session. */
  async open(): Promise<Record<string, string>> {
    if (this.#load.era === 'modern') {
      return this.#common;
    }
    const params = JSON.stringify({ protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT });
    const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`;
    const answer = await post(this.#pool, this.#path, this.#common, body);
    const version = stringAt(JSON.parse(jsonOf(answer)), 'result', 'protocolVersion') ?? LEGACY;
    const session = answer.headers['mcp-session-id'];
    const headers = {
      ...this.#common,
      'mcp-protocol-version': version,
      ...(typeof session === 'string' ? { 'mcp-session-id': session } : {}),
    };
    await post(
      this.#pool,
      this.#path,
      headers,
      '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}',
    );
    return headers;
  }

  /** One request with these members as params; resolves with the JSON of the answer, from which the id is taken out. */
  async ask(
    session: Record<string, string>,
    method: string,
    members: string,
    name?: string,
  ): Promise<string> {
    this.#id += 1;
    const id = this.#id;
    const modern = this.#load.era === 'modern';
    const envelope = modern ? `${members === '' ? '' : ','}"_meta":${ENVELOPE}` : '';
    const headers = modern
      ? {
          ...session,
          'mcp-protocol-version': MODERN,
          'mcp-method': method,
          ...(name === undefined ? {} : { 'mcp-name': name }),
        }
      : session;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${members}${envelope}}}`;
    const answer = await post(this.#pool, this.#path, headers, body);
    const json = jsonOf(answer);
    const marked = json.includes(`"id":${id},`) ? `"id":${id},` : `,"id":${id}`;
    if (answer.status !== 200 || !json.includes(marked)) {
      throw new Error(`status ${answer.status}: ${json.slice(0, 200)}`);
    }
    return json.replace(marked, '');
  }

  async list(session: Record<string, string>, expected: number): Promise<void> {
    let found = 0;
    let cursor: string | undefined;
    do {
      const members = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)}`;
      const json = await this.ask(session, 'tools/list', members);
      if (json === this.#known) {
        return;
      }
      const answer = JSON.parse(json) as { result?: { tools?: unknown[]; nextCursor?: string } };
      found += answer.result?.tools?.length ?? 0;
      cursor = answer.result?.nextCursor;
      if (cursor === undefined && found === expected) {
        this.#known = json;
      }
    } while (cursor !== undefined);
    if (found !== expected) {
      throw new Error(`${found} tools, not ${expected}`);
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

async function measure(load: Load): Promise<Measured> {
  const client = new Client(load);
  const sessions = await Promise.all(
    Array.from({ length: load.era === 'modern' ? 1 : Math.min(load.callers, SESSIONS) }, () => client.open()),
  );
  const { ask } = load;
  let sequence = 0;
  const text = 'bytes' in ask ? JSON.stringify(sampleText(Math.max(ask.bytes - 9, 0))).slice(1, -1) : '';
  const once = async (session: Record<string, string>) => {
    if ('list' in ask) {
      return client.list(session, ask.list);
    }
    sequence += 1;
    const sent = `"text":"${String(sequence).padStart(8, '0')} ${text}"`;
    const json = await client.ask(
      session,
      'tools/call',
      `"name":"${ask.call}","arguments":{${sent}}`,
      ask.call,
    );
    if (!json.includes(sent)) {
      throw new Error(`not the echo: ${json.slice(0, 200)}`);
    }
  };

  const times: number[] = [];
  let errors = 0;
  let firstError: string | undefined;
  let from = Number.POSITIVE_INFINITY;
  let until = Number.POSITIVE_INFINITY;
  const caller = async (session: Record<string, string>) => {
    for (let began = performance.now(); began < until; began = performance.now()) {
      try {
        await once(session);
        const ended = performance.now();
        if (began >= from && ended <= until) {
          times.push(ended - began);
        }
      } catch (thrown) {
        errors += 1;
        firstError ??= String(thrown);
        await pause(AFTER_ERROR_MS);
      }
    }
  };
  const callers = Array.from({ length: load.callers }, (_, at) =>
    caller(sessions[at % sessions.length] ?? {}),
  );
  await pause(load.warmUp * 1_000);
  const before = usage(load.pid, load.except);
  const othersBefore = cpuOfOthers(load);
  from = performance.now();
  until = from + load.duration * 1_000;
  let rss = before.rss;
  const sampling = setInterval(() => {
    rss = Math.max(rss, usage(load.pid, load.except).rss);
  }, 500);
  await pause(load.duration * 1_000);
  const seconds = (performance.now() - from) / 1_000;
  const after = usage(load.pid, load.except);
  const others = cpuOfOthers(load) - othersBefore;
  clearInterval(sampling);
  await Promise.all(callers);
  await client.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return {
    perSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    worst: at(1),
    cpu: times.length === 0 ? 0 : ((after.cpu - before.cpu) / times.length) * 1_000,
    rss,
    errors,
    ...(firstError === undefined ? {} : { firstError }),
    others: others / seconds,
  };
}

/** s of processor time, since the machine booted, of whatever is no part of this run. */
function cpuOfOthers({ ours }: Load): number {
  const { user, system } = process.cpuUsage();
  const mine = ours.reduce((sum, pid) => sum + usage(pid).cpu, (user + system) / 1e6);
  return machineBusy() - mine;
}

const measured = await measure(JSON.parse(process.argv[2] ?? '{}') as Load);
process.stdout.write(`${JSON.stringify(measured)}\n`);
