import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { META, metaOf } from '../../src/protocol/meta.ts';
import { KIND_FACTS, KINDS, type Kind } from '../../src/protocol/model.ts';
import { isModern } from '../../src/protocol/versions.ts';
import type { Answer } from '../kit/http-exchange.ts';
import { checkMessage } from '../kit/wire-check.ts';
import { type Expectation, modernVersion } from './recording.ts';
import { heard, progressToken, responses, type Turn } from './replay.ts';
import { EITHER, LIST_OUTPUT, PROGRESS, SUMMED } from './world.ts';

/** Longest body of a refusal: nobody reads it. */
const SHORT = 500;
/** The longest that a list may be kept: clients without a stream learn of changes by nothing else. */
const LONGEST_TTL = 60_000;
const RESULTS = new Set<Expectation>([
  'discovered',
  'opened',
  'listed',
  'called',
  'read',
  'prompted',
  'levelled',
  'pinged',
]);

/** What is wrong with how one request was answered; empty when the client got what it needs. */
export function judge(turn: Turn): string[] {
  const { send, answer } = turn;
  const found = RESULTS.has(send.expects) ? judgeResponse(turn) : JUDGES[send.expects]?.(turn, answer);
  const where = `${send.n} ${send.method} ${send.path} ${stringAt(turn.body, 'method') ?? ''}`.trim();
  const minted = modernVersion(send) !== undefined && answer?.headers['mcp-session-id'] !== undefined;
  return [
    ...(found ?? []),
    ...unless(!minted, 'a modern request was given a session'),
    ...wireFaults(turn),
  ].map((problem) => `${where}: ${problem}`);
}

type Judge = (turn: Turn, answer: Answer | undefined) => string[];

const JUDGES: Partial<Record<Expectation, Judge>> = {
  accepted: (_, answer) => [...status(answer, [202]), ...same('body', answer?.text, '')],
  refused: (_, answer) => [
    ...status(answer, [405]),
    ...unless(answer?.headers['allow'] !== undefined, 'no Allow header'),
    ...short(answer),
  ],
  ended: (_, answer) => status(answer, [200, 202, 204]),
  gone: (_, answer) => status(answer, [404]),
  absent: (_, answer) => [...status(answer, [404]), ...short(answer)],
  homeless: (_, answer) => [...status(answer, [400]), ...short(answer)],
  streaming: (turn, answer) => [
    ...stream(answer),
    ...judgeNotices(turn),
    ...unless(!turn.cut || turn.answer?.ended === 'whole', 'the stream was not ended in order'),
  ],
  listening: judgeListening,
};

/** The common rules of a JSON-RPC response, then those of its method. */
function judgeResponse(turn: Turn): string[] {
  const { answer, body, send } = turn;
  if (answer === undefined) {
    return ['no answer'];
  }
  const answers = responses(turn);
  const [only] = answers;
  const envelope = [
    ...same('number of responses', answers.length, 1),
    ...same('id', only?.['id'], body?.['id']),
    ...same('end', answer.ended, 'whole'),
    ...unless(accepted(turn, answer), `${answer.headers['content-type']} was not asked for`),
  ];
  const { result } = answer;
  if (send.expects === 'levelled') {
    return [...envelope, ...judgeLevel(answer)];
  }
  if (send.expects === 'called' && !callable(turn)) {
    return [...envelope, ...same('error of an unknown tool', answer.error?.code, -32602)];
  }
  if (result === undefined) {
    return [...envelope, `HTTP ${answer.status} ${answer.text.slice(0, 200)}`];
  }
  return [
    ...envelope,
    ...status(answer, [200]),
    ...eraMarks(turn, result),
    ...(RESULT_JUDGES[send.expects]?.(turn, result) ?? []),
  ];
}

const RESULT_JUDGES: Partial<Record<Expectation, (turn: Turn, result: JsonObject) => string[]>> = {
  discovered: (turn, result) => [
    ...unless(
      list(result['supportedVersions']).includes(turn.version),
      'the version asked for is not offered',
    ),
    ...unless(list(result['supportedVersions']).includes('2025-11-25'), 'no legacy version is offered'),
    ...capabilities(result),
    ...unless(isObject(objectAt(result, '_meta')?.[META.serverInfo]), 'no serverInfo'),
  ],
  opened: ({ answer, version }, result) => [
    ...same('version', result['protocolVersion'], version),
    ...unless(/^[\x21-\x7e]+$/.test(answer?.headers['mcp-session-id'] ?? ''), 'no session id'),
    ...capabilities(result),
    ...unless(isObject(result['serverInfo']), 'no serverInfo'),
  ],
  listed: judgeList,
  called: judgeCall,
  read: ({ body }, result) =>
    same(
      'URI',
      objectAt({ first: list(result['contents'])[0] }, 'first')?.['uri'],
      objectAt(body, 'params')?.['uri'],
    ),
  prompted: (_, result) => unless(list(result['messages']).length > 0, 'no messages'),
  pinged: (_, result) => same('result', result, {}),
};

/** Members that one era must have and the other cannot stand. */
function eraMarks({ version = '', send }: Turn, result: JsonObject): string[] {
  if (!isModern(version)) {
    const foreign = ['resultType', 'ttlMs', 'cacheScope'].filter((member) => member in result);
    return foreign.map((member) => `a legacy result holds ${member}`);
  }
  const { ttlMs, cacheScope } = result;
  const hinted = ['discovered', 'listed', 'read'].includes(send.expects);
  return [
    ...same('resultType', result['resultType'], 'complete'),
    ...unless(!hinted || (Number.isInteger(ttlMs) && Number(ttlMs) <= LONGEST_TTL), `ttlMs is ${ttlMs}`),
    ...unless(!hinted || cacheScope === 'private' || cacheScope === 'public', `cacheScope is ${cacheScope}`),
  ];
}

function capabilities(result: JsonObject): string[] {
  return ['tools', 'prompts', 'resources'].flatMap((name) =>
    same(`capability ${name}`, objectAt(objectAt(result, 'capabilities'), name)?.['listChanged'], true),
  );
}

function judgeList(turn: Turn, result: JsonObject): string[] {
  const method = stringAt(turn.body, 'method') ?? '';
  const kind = KINDS.find((each) => KIND_FACTS[each].list === method) ?? 'tools';
  const items = list(result[KIND_FACTS[kind].member]);
  const { pageSize } = turn;
  return [
    ...unless(items.length > 0, 'an empty page'),
    ...(pageSize === undefined
      ? [
          ...same('names', namesOf(kind, items), turn.listing[method]),
          ...unless(result['nextCursor'] === undefined, 'a second page, which many clients never ask for'),
        ]
      : unless(items.length <= pageSize, `${items.length} items on a page of ${pageSize}`)),
    ...(kind === 'tools' ? judgeTools(turn, items.filter(isObject)) : []),
  ];
}

function namesOf(kind: Kind, items: readonly unknown[]): readonly unknown[] {
  return items.map((item) => (isObject(item) ? item[KIND_FACTS[kind].key] : undefined));
}

/** What is wrong with the walks over paged lists: each must see every item once, from the first page to the last. */
export function judgeWalks(turns: readonly Turn[]): string[] {
  const walks: { method: string; names: unknown[]; listing: Turn['listing'] }[] = [];
  for (const turn of turns.filter(({ send }) => send.expects === 'listed')) {
    const method = stringAt(turn.body, 'method') ?? '';
    const kind = KINDS.find((each) => KIND_FACTS[each].list === method) ?? 'tools';
    const names = namesOf(kind, list(turn.answer?.result?.[KIND_FACTS[kind].member]));
    const going = objectAt(turn.body, 'params')?.['cursor'] !== undefined;
    const walk = going ? walks.findLast((each) => each.method === method) : undefined;
    if (walk === undefined) {
      walks.push({ method, names: [...names], listing: turn.listing });
    } else {
      walk.names.push(...names);
    }
  }
  return walks.flatMap(({ method, names, listing }) => same(`walk of ${method}`, names, listing[method]));
}

/** What the SDKs stumble over: one schema that they do not know costs a legacy client the whole list. */
function judgeTools({ version = '' }: Turn, tools: readonly JsonObject[]): string[] {
  const either = tools.find((tool) => tool['name'] === 'any_of_root');
  const listed = tools.find((tool) => tool['name'] === LIST_OUTPUT['name']);
  const output = isModern(version) ? LIST_OUTPUT['outputSchema'] : undefined;
  return [
    ...(either ? same('inputSchema of any_of_root', either['inputSchema'], EITHER) : []),
    ...(listed ? same('outputSchema of list_output', listed['outputSchema'], output) : []),
    ...tools.flatMap((tool) =>
      same(`root of ${tool['name']}`, objectAt(tool, 'inputSchema')?.['type'], 'object'),
    ),
  ];
}

function callable(turn: Turn): boolean {
  const name = stringAt(turn.body?.['params'], 'name') ?? '';
  return turn.listing['tools/list']?.includes(name) === true;
}

function judgeCall(turn: Turn, result: JsonObject): string[] {
  const params = objectAt(turn.body, 'params');
  const name = stringAt(params, 'name') ?? '';
  const token = progressToken(turn);
  const steps = PROGRESS[name] ?? 0;
  const progress = turn.exchange.messages
    .filter((message) => message['method'] === 'notifications/progress')
    .map((message) => objectAt(message, 'params') ?? {});
  return [
    ...same('isError', result['isError'] ?? false, false),
    ...(name === 'with_output' ? same('content', result['content'], SUMMED.content) : []),
    ...(name === 'with_output'
      ? same('structured', result['structuredContent'], SUMMED.structuredContent)
      : []),
    ...(name === 'demo.echo' ? same('structured', result['structuredContent'], params?.['arguments']) : []),
    ...same('steps of progress', progress.length, token === undefined ? 0 : steps),
    ...progress.flatMap((each) => same('progress token', each['progressToken'], token)),
  ];
}

/** A server that does not offer logging may refuse the level; one that does must take it. */
function judgeLevel(answer: Answer): string[] {
  return answer.error === undefined
    ? same('result', answer.result, {})
    : same('error', answer.error.code, -32601);
}

function judgeListening(turn: Turn): string[] {
  const { body, exchange, answer } = turn;
  const [first, ...rest] = exchange.messages;
  const asked = objectAt(objectAt(body, 'params'), 'notifications');
  const subscription = (message: JsonObject) =>
    metaOf(objectAt(message, 'params') ?? objectAt(message, 'result'))[META.subscription];
  return [
    ...stream(answer),
    ...same('first message', first?.['method'], 'notifications/subscriptions/acknowledged'),
    ...same('acknowledged', objectAt(first, 'params')?.['notifications'], asked),
    ...exchange.messages.flatMap((message) => same('subscription', subscription(message), body?.['id'])),
    ...judgeNotices(turn),
    ...(turn.cut
      ? [
          ...same('end', answer?.ended, 'whole'),
          ...same('id of the last message', rest.at(-1)?.['id'], body?.['id']),
        ]
      : []),
  ];
}

/** Upstreams of the world, whose first lists a gateway that has just started tells of as it reads them. */
const SERVERS = 2;

/** Told once of the new tool, and of nothing else; a gateway that is still reading first lists tells of those too. */
function judgeNotices(turn: Turn): string[] {
  const before = turn.heardBefore ?? (turn.early ? heard(turn) : 0);
  const once = turn.heardBefore === undefined ? 0 : 1;
  const told = heard(turn) - before;
  const most = turn.early ? once + SERVERS : once;
  return [
    ...unless(turn.early || before === 0, 'a change was told that was none'),
    ...unless(told >= once && told <= most, `times the change was told is ${told}, not ${once}`),
  ];
}

/** Everything the answer holds, against the rules of its version. */
function wireFaults({ version, body, exchange, send }: Turn): string[] {
  const method = stringAt(body, 'method');
  if (version === undefined || (send.expects !== 'streaming' && method === undefined)) {
    return [];
  }
  const listening = send.expects === 'listening';
  return exchange.messages.flatMap((message) =>
    checkMessage(version, message, { ...(method === undefined ? {} : { method }), listening }),
  );
}

function accepted({ send }: Turn, answer: Answer): boolean {
  const accept = Object.entries(send.headers).find(([name]) => name.toLowerCase() === 'accept')?.[1] ?? '*/*';
  const type = (answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  return accept.includes(type) || accept.includes('*/*');
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const unless = (fine: boolean, problem: string): string[] => (fine ? [] : [problem]);

const status = (answer: Answer | undefined, allowed: readonly number[]): string[] =>
  unless(
    answer !== undefined && allowed.includes(answer.status),
    `HTTP ${answer?.status} in place of ${allowed.join(' or ')}: ${answer?.text.slice(0, 200)}`,
  );

const stream = (answer: Answer | undefined): string[] => [
  ...status(answer, [200]),
  ...same('type', answer?.headers['content-type']?.split(';')[0], 'text/event-stream'),
];

const short = (answer: Answer | undefined): string[] =>
  unless((answer?.text.length ?? 0) <= SHORT, 'a long body for a refusal');

function same(what: string, found: unknown, wanted: unknown): string[] {
  return isDeepStrictEqual(found, wanted)
    ? []
    : [`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
}
