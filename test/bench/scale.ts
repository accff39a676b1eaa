import { readFileSync } from 'node:fs';
import { type Crowded, crowd, type Told } from '../scale/crowd.ts';
import { writeSection } from './document.ts';
import type { Options } from './options.ts';

const USERS = 10;
const TOOLS = 2_000;
/** So many listeners are told of a change: what the aim is about. */
const LISTENERS = 1_000;
/** Files that a process has open besides the connections that are held, and ports that others use. */
const SPARE = 500;

/**
 * What many sessions and streams hold, and how soon many listeners hear of a change. One kind of stream after the other,
 * each in a gateway of its own: both at once are more connections than a process may have on most machines.
 */
export async function scale({ count, main, json, write }: Options): Promise<number> {
  const missing = missingFor(count);
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    return 1;
  }
  const crowded = { tools: 20, users: USERS, main };
  const listening = await crowd({ ...crowded, sessions: count, listens: count, streams: 0 });
  const streaming = await crowd({ ...crowded, sessions: count, listens: 0, streams: count });
  const told = await crowd({
    ...crowded,
    sessions: 0,
    listens: LISTENERS,
    streams: 0,
    tools: TOOLS,
    changes: 2,
  });
  const text = tableOf(count, listening, streaming, told);
  process.stdout.write(json ? `${JSON.stringify({ listening, streaming, told })}\n` : `${text}\n`);
  if (write) {
    writeSection('scale', `${count} sessions, and as many streams of one kind, held at once`, text);
  }
  const all = [listening, streaming, told];
  return all.every(({ changes, listeners }) => changes.every((each) => each.told === listeners)) ? 0 : 1;
}

/** What this machine does not let a process have, in words; undefined where there is enough. */
function missingFor(count: number): string | undefined {
  const needed = count + SPARE;
  const files = filesOf();
  if (files < needed) {
    return `A process may have ${files} files open here; ${count} connections need ${needed}. Raise it (ulimit -n ${needed}), or give --count ${Math.max(0, files - SPARE)}.`;
  }
  const ports = portsOf();
  return ports < needed
    ? `There are ${ports} ports for connections here; ${count} need ${needed}. Widen net.ipv4.ip_local_port_range, or give --count ${Math.max(0, ports - SPARE)}.`
    : undefined;
}

function filesOf(): number {
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

function portsOf(): number {
  const [from = 0, to = 0] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
    .trim()
    .split(/\s+/)
    .map(Number);
  return to - from + 1;
}

function tableOf(count: number, listening: Crowded, streaming: Crowded, told: Crowded): string {
  const kib = (bytes: number) => `${(bytes / 1_024).toFixed(1)} KiB`;
  const rows = [
    ['a legacy session', listening.session],
    ['an idle `subscriptions/listen`', listening.listen],
    ['an idle stream of a legacy session', streaming.stream],
  ] as const;
  const [first, second] = told.changes.map(wordsOf);
  return [
    `| one of ${count} | heap | resident memory |`,
    '| --- | --- | --- |',
    ...rows.map(([what, { heap, rss }]) => `| ${what} | ${kib(heap)} | ${kib(rss)} |`),
    '',
    `A change of a list of ${TOOLS} tools, ${told.listeners} listeners of ${USERS} users with rules of their own` +
      ` (\`changes.debounce\` of 50 ms included): ${first}. The next change: ${second}.`,
  ].join('\n');
}

function wordsOf({ told, first, last, cpu }: Told): string {
  return (
    `${told} told, the first after ${first.toFixed(0)} ms, the last after ${last.toFixed(0)} ms,` +
    ` ${(cpu * 1_000).toFixed(0)} ms of processor time`
  );
}
