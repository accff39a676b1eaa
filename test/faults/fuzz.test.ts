import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject } from '../../src/base/json.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { checked, FUZZ_TIMEOUT } from './fuzz-runs.ts';
import { cuts, mutation, piecesOf } from './mutations.ts';
import { exchangeRaw, messagesOf, type RawAnswer, type RawOptions, requestBytes } from './raw-client.ts';

const ERAS = ['legacy', 'modern'] as const;
type Era = (typeof ERAS)[number];
const era = fc.constantFrom(...ERAS);

/** Requests and notifications that are in order; those of the modern era get their envelope from `message`. */
const METHODS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['tools/call', { name: 'up.echo', arguments: { mark: 'a', deep: { list: [1, { x: null }] } } }],
  ['tools/list', {}],
  ['tools/list', { cursor: 'nowhere' }],
  ['resources/read', { uri: 'x://1' }],
  ['resources/templates/list', {}],
  ['prompts/get', { name: 'up.ask', arguments: { topic: 't' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'up.ask' }, argument: { name: 'topic', value: 'v' } },
  ],
  ['subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: ['x://1'] } }],
  ['server/discover', {}],
  ['tasks/get', { taskId: 't' }],
  [
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  ],
  ['resources/subscribe', { uri: 'x://1' }],
  ['logging/setLevel', { level: 'debug' }],
  ['ping', {}],
  ['notifications/cancelled', { requestId: 1 }],
  ['notifications/progress', { progressToken: 1, progress: 1 }],
];

describe('a client that sends nonsense', { timeout: FUZZ_TIMEOUT }, () => {
  let up: ScriptedUpstream;
  let gateway: StartedGateway;
  let legacy: Agent;
  let modern: Agent;
  const rejections: unknown[] = [];
  const note = (reason: unknown) => void rejections.push(reason);

  beforeAll(async () => {
    process.on('unhandledRejection', note);
    up = await startHttpUpstream({
      id: 'up',
      tools: ['echo'],
      prompts: ['ask'],
      resources: ['x://1'],
      capabilities: { resources: { subscribe: true }, completions: {}, logging: {} },
    });
    gateway = await startGateway({
      limits: { bodyTimeout: '1s' },
      upstreams: { up: { ...up.config, timeouts: { call: '2s' } } },
    });
    await gateway.gateway.settled();
    legacy = await connectLegacy(gateway.url);
    modern = await connectModern(gateway.url);
  });

  afterAll(async () => {
    await legacy?.[Symbol.asyncDispose]();
    await modern?.[Symbol.asyncDispose]();
    await gateway?.close();
    await up?.[Symbol.asyncDispose]();
    process.off('unhandledRejection', note);
  });

  const message = (of: Era, [method, params]: (typeof METHODS)[number]) => ({
    jsonrpc: '2.0',
    ...(method.startsWith('notifications/') ? {} : { id: 7 }),
    method,
    params:
      of === 'legacy'
        ? params
        : {
            ...params,
            _meta: {
              [META.version]: '2026-07-28',
              [META.clientInfo]: { name: 'fuzz', version: '1' },
              [META.capabilities]: {},
            },
          },
  });
  const head = (of: Era, [method, { name, uri }]: (typeof METHODS)[number]) => [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${gateway.port}`,
    'Connection: close',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    ...(of === 'legacy'
      ? ['MCP-Protocol-Version: 2025-11-25', `Mcp-Session-Id: ${legacy.sessionId}`]
      : [
          'MCP-Protocol-Version: 2026-07-28',
          `Mcp-Method: ${method}`,
          ...(name === undefined && uri === undefined ? [] : [`Mcp-Name: ${name ?? uri}`]),
        ]),
  ];
  const send = (bytes: Buffer, at: readonly number[] = [], options?: RawOptions) =>
    exchangeRaw(gateway.port, piecesOf(bytes, at), options);

  /** Nothing is broken: others are answered, nothing was our own fault. */
  async function serves(): Promise<void> {
    for (const agent of [legacy, modern]) {
      expect((await agent.call('up.echo', { mark: 'good' })).structured).toEqual({ mark: 'good' });
    }
    expect(gateway.logged.filter((line) => JSON.stringify(line).includes('INTERNAL'))).toEqual([]);
    expect(rejections).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  }

  it('bodies of both eras, mutated: each gets an answer that is one, under its own id', async () => {
    await checked(
      fc.tuple(era, fc.constantFrom(...METHODS), mutation, fc.boolean()),
      async ([of, about, mutate, isBatch]) => {
        const whole = message(of, about);
        // As UTF-8 has it: half a character is none.
        const text = Buffer.from(mutate(isBatch ? [whole, whole] : whole)).toString();
        const answer = await send(requestBytes(head(of, about), text));
        const faults = faultsOf(answer, idsIn(text));
        expect(faults, `${faults} for ${text.slice(0, 800)}`).toEqual([]);
      },
    );
    await serves();
  });

  const line = fc.oneof(
    fc.constantFrom(
      'MCP-Protocol-Version: 2026-07-28',
      'MCP-Protocol-Version: 2025-11-25',
      'MCP-Protocol-Version: 1.0',
      'Mcp-Session-Id: nobody',
      'Mcp-Method: tools/list',
      'Mcp-Name: =?base64?4pyTIHg=?=',
      'Last-Event-ID: 1/2',
      'Content-Encoding: gzip',
      'Content-Type: text/plain; charset=utf-7',
      'Content-Length: 3',
      'Content-Length: -1',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding: gzip, chunked',
      'Expect: 100-continue',
      'Upgrade: websocket',
      'Connection: upgrade',
      'Origin: null',
      'Host: evil.example',
      'X-Forwarded-Host: evil.example',
      'Authorization: Bearer',
      'Accept: text/html',
      'Accept:',
      ' folded: line',
      ': nameless',
      'no colon',
    ),
    fc
      .tuple(fc.constantFrom('Mcp-Name', 'Accept', 'Cookie', '__proto__', 'mcp-param-x'), fc.nat(50_000))
      .map(([name, length]) => `${name}: ${'x'.repeat(length)}`),
    fc
      .tuple(
        fc.constantFrom('Mcp-Name', 'Mcp-Method', 'Mcp-Session-Id', 'Accept'),
        fc.string({ unit: 'binary' }),
      )
      .map(([name, value]) => `${name}: ${value}`),
  );
  const headerEdit = fc.tuple(fc.constantFrom('drop', 'repeat', 'replace', 'add'), fc.nat(12), line);

  it('headers missing, repeated, oversized, wrong, and of the other era: nobody is harmed', async () => {
    await checked(
      fc.tuple(era, fc.constantFrom(...METHODS), fc.array(headerEdit, { minLength: 1, maxLength: 3 })),
      async ([of, about, edits]) => {
        const [start = '', ...lines] = head(of, about);
        for (const [how, at, other] of edits) {
          const index = at % (lines.length + 1);
          const removed = how === 'drop' || how === 'replace' ? 1 : 0;
          const added = { drop: [], repeat: lines.slice(index, index + 1), replace: [other], add: [other] }[
            how
          ];
          lines.splice(index, removed, ...added);
        }
        const bytes = requestBytes([start, ...lines], JSON.stringify(message(of, about)));
        const answer = await send(bytes, [], { finishMs: 100 });
        expect(answer.status === 0 ? [] : faultsOf(answer, [7])).toEqual([]);
      },
    );
    await serves();
  });

  it('a request in any pieces, in whatever transfer encoding, gets the answer that it gets in one', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    await checked(fc.tuple(era, text, cuts, fc.option(cuts)), async ([of, mark, at, chunksAt]) => {
      const about = ['tools/call', { name: 'up.echo', arguments: { mark } }] as const;
      const body = JSON.stringify(message(of, about));
      const whole = await send(requestBytes(head(of, about), body));
      const chunks = chunksAt === null ? undefined : (bytes: Buffer) => piecesOf(bytes, chunksAt);
      const pieces = await send(requestBytes(head(of, about), body, chunks), at);
      expect(pieces.status).toBe(200);
      expect(messagesOf(pieces)).toMatchObject([{ id: 7, result: { structuredContent: { mark } } }]);
      expect(messagesOf(pieces)).toEqual(messagesOf(whole));
    });
    await serves();
  });

  it('bytes that are no request get a 4xx or a closed connection', async () => {
    const damaged = fc
      .tuple(era, fc.nat(9_999), fc.uint8Array({ minLength: 1, maxLength: 20 }))
      .map(([of, at, noise]) => {
        const about = METHODS[0] ?? ['ping', {}];
        const bytes = requestBytes(head(of, about), JSON.stringify(message(of, about)));
        const from = Math.floor((at * bytes.length) / 10_000);
        return Buffer.concat([bytes.subarray(0, from), noise, bytes.subarray(from + noise.length)]);
      });
    const noise = fc.uint8Array({ minLength: 1, maxLength: 500 }).map((bytes) => Buffer.from(bytes));
    await checked(fc.tuple(fc.oneof(damaged, noise), cuts), async ([bytes, at]) => {
      const answer = await send(bytes, at, { finishMs: 100 });
      expect(answer.status === 0 ? [] : faultsOf(answer, undefined)).toEqual([]);
    });
    await serves();
  });
});

/** What is wrong with an answer to one request, whatever that was. `ids`: those it may name; undefined: any. */
function faultsOf(answer: RawAnswer, ids: readonly unknown[] | undefined): readonly string[] {
  const seen = JSON.stringify(answer.body.slice(0, 300));
  const messages = messagesOf(answer);
  if (!(answer.status >= 200 && answer.status < 500)) {
    return [`status ${answer.status} ${seen}`];
  }
  if (messages === undefined) {
    return [`no JSON-RPC: ${seen}`];
  }
  return messages.flatMap((each) => {
    if (!isObject(each) || each['jsonrpc'] !== '2.0') {
      return [`no message: ${seen}`];
    }
    if ('method' in each) {
      return [];
    }
    const { id, result, error } = each;
    const isOwn =
      ids === undefined || ids.includes(id) || (isObject(error) && (id === null || id === undefined));
    const isAnswer = isObject(result)
      ? error === undefined
      : isObject(error) && Number.isInteger(error['code']) && String(error['message']).length > 10;
    return [...(isOwn ? [] : [`not its id: ${seen}`]), ...(isAnswer ? [] : [`no answer: ${seen}`])];
  });
}

/** The ids that answers to this text may name. */
function idsIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().map((each) => (isObject(each) ? each['id'] : undefined));
  } catch {
    return [];
  }
}
