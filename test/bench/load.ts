import { Client, type Headers, type Session } from './client.ts';
import type { Era } from './target.ts';
import { sampleText } from './tools.ts';
import { machineBusy, usage } from './usage.ts';

/**
 * `node load.ts JSON`: callers that each wait for their answer and call again. Every echo has to come back byte for byte
 * and every list has to be complete; anything else counts as an error. Prints a line when the warm-up is over, and
 * {@link Loaded} as JSON when all is.
 */
export interface Load {
  readonly url: string;
  readonly era: Era;
  /** A call with so many bytes in the place of `@`, or the list that has to hold so many tools. */
  readonly ask:
    | { readonly call: string; readonly arguments: object; readonly bytes: number }
    | { readonly list: number };
  readonly callers: number;
  /** s */
  readonly warmUp: number;
  readonly duration: number;
  /** Sent with every request. */
  readonly headers: Headers;
  /** Root of the processes that are measured. */
  readonly pid: number;
  /** What is not counted among them: see {@link usage}. */
  readonly except: string;
  /** Roots of all processes of this run but the client itself. */
  readonly ours: readonly number[];
}

export interface Loaded {
  readonly perSecond: number;
  /** ms */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  /** ms of processor time of the target for one request. */
  readonly cpu: number;
  /** MiB, the most that was seen. */
  readonly rss: number;
  /** s of processor time of the client itself. */
  readonly client: number;
  readonly errors: number;
  readonly firstError?: string;
  /** Cores that the machine spent on anything but this run. */
  readonly others: number;
}

/** What some servers need a moment for after an error; a caller that spins would measure itself. */
const AFTER_ERROR_MS = 20;
const SESSIONS = 16;
const SAMPLING_MS = 500;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What one caller does again and again. */
function taskOf({ ask }: Load, client: Client): (session: Session) => Promise<void> {
  if ('list' in ask) {
    return listing(client, ask.list);
  }
  const text = JSON.stringify(sampleText(Math.max(ask.bytes - 9, 0))).slice(1, -1);
  const wrapped = JSON.stringify(text).slice(1, -1);
  const [head = '', tail = ''] = JSON.stringify(ask.arguments).split('@');
  let sequence = 0;
  return async (session) => {
    sequence += 1;
    const mark = `${String(sequence).padStart(8, '0')} `;
    const members = `"name":"${ask.call}","arguments":${head}${mark}${text}${tail}`;
    const json = await client.ask(session, 'tools/call', members, ask.call);
    // One that hides tools gives the result of the tool as text, so the text of the echo is written once more.
    if (!json.includes(mark + text) && !json.includes(mark + wrapped)) {
      throw new Error(`not the echo: ${json.slice(0, 200)}`);
    }
  };
}

/** A page that differs from one that was right in nothing but its cursor and ttl is right too, and is not parsed again. */
function listing(client: Client, expected: number): (session: Session) => Promise<void> {
  let known: readonly Page[] = [];
  return async (session) => {
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = pageOf(await client.list(session, cursor));
      if (!known.some((each) => isSame(each, page))) {
        const { count, pages: all } = await client.tools(session);
        if (count !== expected) {
          throw new Error(`${count} tools, not ${expected}`);
        }
        known = all.map(pageOf);
        return;
      }
      pages += 1;
      ({ cursor } = page);
    } while (cursor !== undefined);
    if (pages !== known.length) {
      throw new Error(`${pages} pages, not ${known.length}`);
    }
  };
}

interface Page {
  /** Its two ends without what may differ. */
  readonly ends: string;
  readonly middle: string;
  readonly cursor: string | undefined;
}

const CURSOR = /"nextCursor":"([^"\\]+)"/;
/** Cursor and ttl stand so near to an end: to search a page of megabytes for them would be what a run waits for. */
const EDGE = 1_024;

function pageOf(json: string): Page {
  const ends = json.length < 2 * EDGE ? json : json.slice(0, EDGE) + json.slice(-EDGE);
  return {
    ends: ends.replace(CURSOR, '').replace(/"ttlMs":\d+/, ''),
    middle: json.slice(EDGE, -EDGE),
    cursor: CURSOR.exec(ends)?.[1],
  };
}

function isSame(one: Page, other: Page): boolean {
  return one.ends === other.ends && one.middle === other.middle;
}

async function measure(load: Load): Promise<Loaded> {
  const stateless = load.era === 'modern';
  const count = stateless ? 1 : Math.min(load.callers, SESSIONS);
  const connections = load.callers + (load.era === 'sse' ? count : 0);
  const client = new Client(load.url, load.era, { connections, headers: load.headers });
  const sessions = await Promise.all(Array.from({ length: count }, () => client.open()));
  const task = taskOf(load, client);
  const times: number[] = [];
  let errors = 0;
  let firstError: string | undefined;
  let from = Number.POSITIVE_INFINITY;
  let until = Number.POSITIVE_INFINITY;
  const caller = async (session: Session) => {
    for (let began = performance.now(); began < until; began = performance.now()) {
      try {
        await task(session);
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
  const callers = Array.from({ length: load.callers }, (_, at) => {
    const session = sessions[at % sessions.length];
    return session === undefined ? undefined : caller(session);
  });
  await pause(load.warmUp * 1_000);
  process.stdout.write('measuring\n');
  const before = usage(load.pid, load.except);
  const othersBefore = cpuOfOthers(load);
  const mineBefore = mine();
  from = performance.now();
  until = from + load.duration * 1_000;
  let rss = before.rss;
  const sampling = setInterval(() => {
    rss = Math.max(rss, usage(load.pid, load.except).rss);
  }, SAMPLING_MS);
  await pause(load.duration * 1_000);
  const seconds = (performance.now() - from) / 1_000;
  const after = usage(load.pid, load.except);
  const others = cpuOfOthers(load) - othersBefore;
  const spent = mine() - mineBefore;
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
    client: spent,
    errors,
    ...(firstError === undefined ? {} : { firstError }),
    others: others / seconds,
  };
}

/** s of processor time of this process. */
function mine(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** s of processor time, since the machine booted, of whatever is no part of this run. */
function cpuOfOthers({ ours }: Load): number {
  return machineBusy() - ours.reduce((sum, pid) => sum + usage(pid).cpu, mine());
}

const measured = await measure(JSON.parse(process.argv[2] ?? '{}') as Load);
process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0));
