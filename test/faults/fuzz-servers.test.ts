import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import type { Agent } from '../kit/agent.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import type { ScriptedUpstream } from '../kit/upstream.ts';
import { checked, FUZZ_TIMEOUT } from './fuzz-runs.ts';
import { cuts, mutation, torn } from './mutations.ts';
import { resultOf, startWildServer, type Told, type WildServer } from './wild-server.ts';

const CHILD = fileURLToPath(new URL('../fixtures/upstreams/wild-child.mjs', import.meta.url));
const ERAS = ['legacy', 'modern'] as const;

/** What is damaged may never be answered; what is in order is waited for however slow the machine is. */
const HASTY = { call: '100ms', total: '1s', health: '0s' };
const PATIENT = { call: '20s', health: '0s' };
const RESTART = { base: '1ms', cap: '5ms', breakAfter: 1_000_000 };

const text = fc.string({ unit: 'grapheme', maxLength: 300 });
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const json = fc.constant(['application/json', (body: string) => body] as const);
/** An answer as an event stream: with comments, other fields and events around it, in one line or in several. */
const events = fc
  .tuple(
    lineEnd,
    fc.constantFrom('', '\uFEFF', ': hello@', 'id: 1@data:@@', 'retry: 5@@', 'event: other@data: x@@'),
    fc.boolean(),
  )
  .map(
    ([end, before, inLines]) =>
      [
        'text/event-stream',
        (body: string) => {
          const data = inLines ? body.replace('{', '{@data: ') : body;
          return `${before}event: message@data: ${data}@@`.replaceAll('@', (at, from, all: string) =>
            /^@(?:id|next)@/.test(all.slice(from)) || /@(?:id|next)$/.test(all.slice(0, from)) ? at : end,
          );
        },
      ] as const,
  );
const form = fc.oneof(json, events);
/** An answer for somebody else, who may well be waiting for one. */
const astray = fc.constant((value: unknown) => JSON.stringify(value).replace('"@id@"', '"@next@"'));

describe('a server that answers nonsense', { timeout: FUZZ_TIMEOUT }, () => {
  let tame: ScriptedUpstream;
  let wild: WildServer;
  let gateway: StartedGateway;
  let legacy: Agent;
  let modern: Agent;
  const rejections: unknown[] = [];
  const note = (reason: unknown) => void rejections.push(reason);
  let marks = 0;

  beforeAll(async () => {
    process.on('unhandledRejection', note);
    tame = await startHttpUpstream({ id: 'tame', tools: ['echo'] });
    wild = await startWildServer();
    const upstreams = ERAS.flatMap((era) =>
      [PATIENT, HASTY].flatMap((timeouts) => {
        const how = timeouts === HASTY ? 'hasty' : 'patient';
        const rest = { timeouts, restart: RESTART, limits: { concurrency: 100 } };
        return [
          [`http-${era}-${how}`, { ...rest, url: wild.url(era) }],
          [`pipe-${era}-${how}`, { ...rest, command: process.execPath, args: [CHILD, era] }],
        ] as const;
      }),
    );
    gateway = await startGateway({ upstreams: { tame: tame.config, ...Object.fromEntries(upstreams) } });
    await gateway.gateway.settled();
    legacy = await connectLegacy(gateway.url);
    modern = await connectModern(gateway.url);
    await legacy.untilNames((names) => names.length === 9);
  });

  afterAll(async () => {
    await legacy?.[Symbol.asyncDispose]();
    await modern?.[Symbol.asyncDispose]();
    await gateway?.close();
    await wild?.[Symbol.asyncDispose]();
    await tame?.[Symbol.asyncDispose]();
    process.off('unhandledRejection', note);
  });

  async function serves(): Promise<void> {
    for (const agent of [legacy, modern]) {
      expect((await agent.call('tame.echo', { mark: 'good' })).structured).toEqual({ mark: 'good' });
    }
    expect(gateway.logged.filter((line) => JSON.stringify(line).includes('INTERNAL'))).toEqual([]);
    expect(rejections).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  }

  const answerWith = (mark: string): JsonObject => ({
    jsonrpc: '2.0',
    id: '@id@',
    result: { resultType: 'complete', content: [{ type: 'text', text: mark }], structuredContent: { mark } },
  });
  const httpHead = (type: string, chunks: readonly number[] | null) => [
    'HTTP/1.1 200 OK',
    `Content-Type: ${type}`,
    'Connection: close',
    chunks === null ? 'Content-Length: @length@' : 'Transfer-Encoding: chunked',
  ];
  const newMark = () => {
    marks += 1;
    return `mark-${marks}-`;
  };

  /** Its own answer, or a clear error; never another's, and never nothing. */
  async function ends(tool: string, told: Told, own: string): Promise<void> {
    const agent = marks % 2 === 0 ? legacy : modern;
    const {
      result,
      error,
      status,
      text: body,
    } = await agent.request('tools/call', { name: tool, arguments: told });
    expect(status).toBe(200);
    expect(isObject(result) || (isObject(error) && error.message.length > 3), body.slice(0, 500)).toBe(true);
    if (result?.['isError'] !== true && error === undefined) {
      expect([...body.matchAll(/mark-\d+-/g)].every(([mark]) => mark === own)).toBe(true);
    }
  }

  it.each(ERAS)('over HTTP, %s era: an answer in any pieces and any form arrives as it is', async (era) => {
    await checked(fc.tuple(text, form, cuts, fc.option(cuts)), async ([words, [type, write], at, chunks]) => {
      const mark = newMark() + words.replaceAll('@', '');
      const told = {
        head: httpHead(type, chunks),
        text: write(JSON.stringify(answerWith(mark))),
        cuts: at,
        ...(chunks === null ? {} : { chunks }),
      };
      const { structured } = await modern.call(`http-${era}-patient.say`, told);
      expect(structured).toEqual({ mark });
    });
    await serves();
  });

  it.each(ERAS)('over a pipe, %s era: an answer in any pieces arrives as it is', async (era) => {
    const around = fc.constantFrom('', '\n', 'Traceback:\n', '\u{1f600}\r\n', '{"jsonrpc":"2.0"}\n', '[]\n');
    await checked(fc.tuple(text, cuts, around, lineEnd), async ([words, at, before, end]) => {
      const mark = newMark() + words;
      const told = {
        text: `${before}${JSON.stringify(answerWith(mark))}${end === '\r' ? '\n' : end}`,
        cuts: at,
      };
      const { structured } = await modern.call(`pipe-${era}-patient.say`, told);
      expect(structured).toEqual({ mark });
    });
    await serves();
  });

  it.each(ERAS)('over HTTP, %s era: what is mutated or torn ends its call, and no other', async (era) => {
    await checked(
      fc.tuple(
        fc.oneof({ weight: 3, arbitrary: mutation }, astray),
        form,
        cuts,
        fc.option(cuts),
        fc.boolean(),
        torn,
      ),
      async ([mutate, [type, write], at, chunks, isTorn, tear]) => {
        const mark = newMark();
        const body = write(mutate(answerWith(mark)));
        const whole = [...httpHead(type, null), '', body]
          .join('\r\n')
          .replace('@length@', `${Buffer.byteLength(body)}`);
        const told = isTorn
          ? { text: tear(whole), cuts: at }
          : { head: httpHead(type, chunks), text: body, cuts: at, ...(chunks === null ? {} : { chunks }) };
        await ends(`http-${era}-hasty.say`, told, mark);
      },
    );
    await serves();
  });

  it.each(ERAS)('over a pipe, %s era: what is mutated or torn ends its call, and no other', async (era) => {
    // What names no call, or another, is for whoever waits: one at a time.
    await checked(
      fc.tuple(mutation, cuts, torn),
      async ([mutate, at, tear]) => {
        const mark = newMark();
        await ends(`pipe-${era}-hasty.say`, { text: `${tear(mutate(answerWith(mark)))}\n`, cuts: at }, mark);
      },
      1,
      0.1,
    );
    await serves();
  });

  it('handshakes and lists that are mutated harm nobody else', async () => {
    const methods = [
      'server/discover',
      'initialize',
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
    ];
    const each = fc.tuple(fc.constantFrom(...ERAS), fc.constantFrom(...methods), mutation);
    await checked(
      fc.array(each, { minLength: 40, maxLength: 40 }),
      async (cases) => {
        await using server = await startWildServer((path, method, id) => {
          const [era, mutated, mutate] = cases[Number(path.split('/')[1])] ?? [];
          const result = resultOf(era === 'modern', method);
          return mutate === undefined || method !== mutated || result === undefined
            ? undefined
            : mutate({ jsonrpc: '2.0', id, result });
        });
        const upstreams = cases.map(([era], at) => [
          `up${at}`,
          { url: server.url(`${era}/${at}`), timeouts: { connect: '500ms', probe: '300ms', call: '300ms' } },
        ]);
        await using here = await startGateway({
          upstreams: { tame: tame.config, ...Object.fromEntries(upstreams) },
        });
        await here.gateway.settled();
        for (const connect of [connectLegacy, connectModern]) {
          await using agent = await connect(here.url);
          for (const kind of ['tools', 'prompts', 'resources', 'templates'] as const) {
            expect((await agent.list(kind)).every((item) => isObject(item))).toBe(true);
          }
          expect((await agent.call('tame.echo', { mark: 'good' })).structured).toEqual({ mark: 'good' });
        }
        expect(here.logged.filter((line) => JSON.stringify(line).includes('INTERNAL'))).toEqual([]);
      },
      1,
      1 / 200,
    );
    await serves();
  });
});
