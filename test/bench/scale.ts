import { type Crowded, crowd } from '../scale/crowd.ts';
import { writeSection } from './document.ts';
import type { Options } from './options.ts';

const USERS = 10;
const TOOLS = 2_000;
/** So many listeners are told of a change: what the aim is about. */
const LISTENERS = 1_000;

/** What many sessions and streams hold, and how soon many listeners hear of one change. */
export async function scale({ count, json, write }: Options): Promise<number> {
  const held = await crowd({ sessions: count, listeners: count, tools: 20, users: USERS });
  const told = await crowd({ sessions: 0, listeners: LISTENERS, tools: TOOLS, users: USERS });
  const text = tableOf(count, held, told);
  process.stdout.write(json ? `${JSON.stringify({ held, told })}\n` : `${text}\n`);
  if (write) {
    writeSection('scale', `${count} of each held at once`, text);
  }
  return held.told === held.listeners && told.told === told.listeners ? 0 : 1;
}

function tableOf(count: number, held: Crowded, told: Crowded): string {
  const kib = (bytes: number) => `${(bytes / 1_024).toFixed(1)} KiB`;
  const rows = [
    ['a legacy session', held.session],
    ['an idle `subscriptions/listen`', held.listen],
    ['an idle stream of a legacy session', held.stream],
  ] as const;
  return [
    `| one of ${count} | heap | resident memory |`,
    '| --- | --- | --- |',
    ...rows.map(([what, { heap, rss }]) => `| ${what} | ${kib(heap)} | ${kib(rss)} |`),
    '',
    `One change of a list of ${TOOLS} tools, ${told.listeners} listeners of ${USERS} users with rules of their own:` +
      ` ${told.told} told, the first after ${told.firstTold.toFixed(0)} ms, the last after ${told.lastTold.toFixed(0)} ms` +
      ` (\`changes.debounce\` of 50 ms included), ${(told.cpu * 1_000).toFixed(0)} ms of processor time.`,
  ].join('\n');
}
