import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject, stringAt } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { type HostileServer, startHostileServer } from './http-server.ts';
import { MIB, watch } from './watch.ts';

const doubling = Array.from({ length: 60 }, (_, at) => [
  `d${at}`,
  { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
]);
const SCHEMAS: Readonly<Record<string, string>> = {
  doubling: JSON.stringify({
    type: 'object',
    $defs: { ...Object.fromEntries(doubling), d60: {} },
    $ref: '#/$defs/d0',
  }),
  cycle: '{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}',
  regular: '{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}',
  proto:
    '{"type":"object","__proto__":{"x":1},"properties":{"__proto__":{"type":"string"},"constructor":{}}}',
  surrogate: '{"type":"object","description":"\\ud800"}',
};
const BOMBS: Readonly<Record<string, string>> = {
  deep: `{"type":"object","properties":${'{"a":'.repeat(900)}{}${'}'.repeat(900)}}`,
  wide: `{"type":"object","anyOf":[${'{},'.repeat(50_000)}{}]}`,
};

const tool = (name: string, schema: string) => `{"name":${JSON.stringify(name)},"inputSchema":${schema}}`;
const all = Object.entries({ ...SCHEMAS, ...BOMBS }).map(([name, schema]) => tool(name, schema));

describe('a hostile list', () => {
  let server: HostileServer;
  let gateway: StartedGateway;
  let pages = 0;
  let read: Awaited<ReturnType<typeof watch>>;

  beforeAll(async () => {
    const called = Object.keys(SCHEMAS).map(
      (name) =>
        [
          name,
          (response: import('node:http').ServerResponse, id: unknown) => {
            response.setHeader('content-type', 'application/json');
            response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"ok"}]}}`);
          },
        ] as const,
    );
    server = await startHostileServer(Object.fromEntries(called), {
      'tools/list': () =>
        `{"tools":[${[...all, tool('n'.repeat(MIB), '{}'), `{"name":"told","inputSchema":{},"description":"${'d'.repeat(MIB)}"}`].join()}]}`,
      'prompts/list': () => {
        pages += 1;
        return `{"prompts":[],"nextCursor":"${String(pages).padStart(MIB, 'c')}"}`;
      },
    });
    gateway = await startGateway({ upstreams: { bad: { url: server.url, namespace: '' } } });
    read = await watch(gateway, () => gateway.gateway.settled());
  });

  afterAll(async () => {
    await gateway.close();
    await server[Symbol.asyncDispose]();
  });

  it('is read, and the gateway answered everybody meanwhile', () => {
    expect(read.healthy).toBeGreaterThan(0);
    expect(read.kept).toBeLessThan(32 * MIB);
  });

  it('with cursors of 1 MiB is not followed', () => {
    expect(pages).toBeLessThan(5);
    const faults = gateway.logged
      .filter(({ kind }) => kind === 'prompts')
      .map((line) => JSON.stringify(line));
    expect(faults.join()).toContain('nextCursor is longer than');
  });

  it.each(AGENTS)(
    'is served to a $era client without what is a bomb, all else as it is',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const tools = await agent.list('tools');
      expect(tools.map((each) => stringAt(each, 'name')).toSorted()).toEqual(Object.keys(SCHEMAS).toSorted());
      for (const each of tools) {
        expect(JSON.stringify(each['inputSchema'])).toBe(
          JSON.stringify(JSON.parse(SCHEMAS[String(each['name'])] ?? '')),
        );
      }
      expect(isObject(Object.prototype) && Object.hasOwn(Object.prototype, 'x')).toBe(false);
    },
  );

  it.each(AGENTS)(
    'whose patterns would take for ever costs a call of a $era client nothing',
    async ({ connect }) => {
      await using agent = await connect(gateway.url);
      const { value, healthy } = await watch(gateway, () =>
        agent.call('regular', { x: `${'a'.repeat(100_000)}!` }),
      );
      expect(value.text).toBe('ok');
      expect(healthy).toBeGreaterThan(0);
    },
  );
});
