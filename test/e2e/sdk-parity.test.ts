import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { AGENTS } from '../kit/agents.ts';
import { connectSdk, SDK_CLIENTS, type SdkLabel } from '../kit/sdk-clients.ts';
import { type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { ABLE, SERVERS, type Server } from './parity-servers.ts';
import { type Log, rawVisitor, sdkVisitor, tour, withoutExecution } from './parity-steps.ts';

/** Who talks to the server directly for comparison: the same client where it can at all, else its sibling. */
const DIRECTLY: Readonly<Record<'modern' | 'legacy', Readonly<Record<SdkLabel, SdkLabel>>>> = {
  modern: { v1: 'v2-modern', 'v2-auto': 'v2-modern', 'v2-legacy': 'v2-modern', 'v2-modern': 'v2-modern' },
  legacy: { v1: 'v1', 'v2-auto': 'v2-legacy', 'v2-legacy': 'v2-legacy', 'v2-modern': 'v2-legacy' },
};

describe.each(SERVERS)('in front of $name', ({ era, start }) => {
  // What server-everything lists depends on what its client declares; the gateway declares nothing for all of them.
  const options = era === 'modern' ? ABLE : {};
  const direct = new Map<SdkLabel | 'raw', Log>();
  let server: Server;
  let gateway: StartedGateway;

  beforeAll(async () => {
    server = await start();
    gateway = await startGateway({ upstreams: { up: { ...server.config, validate: { arguments: 'off' } } } });
    for (const label of new Set(Object.values(DIRECTLY[era]))) {
      await using client = await connectSdk(label, server.target, options);
      direct.set(label, await tour(sdkVisitor(client), server.plan));
    }
    direct.set('raw', (await server.rawTour?.()) ?? {});
    await gateway.gateway.settled();
  });

  afterAll(async () => {
    await gateway?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** The direct log as a client of that era should have it through the gateway. */
  const expected = (label: SdkLabel | 'raw', client: 'modern' | 'legacy'): Log => {
    const log = direct.get(label) ?? {};
    return client === 'modern' && era === 'legacy' ? withoutExecution(log) : log;
  };

  it.each(SDK_CLIENTS)(
    'the official client %s gets through the gateway what it gets directly',
    async (label) => {
      const legacy = label === 'v1' || label === 'v2-legacy';
      await using client = await connectSdk(label, { url: gateway.url }, options);
      expect(client.version).toBe(legacy ? '2025-11-25' : '2026-07-28');
      const { progress = [], ...through } = await tour(sdkVisitor(client), server.plan, 'up.');
      const { progress: _unsure, ...wanted } = expected(DIRECTLY[era][label], legacy ? 'legacy' : 'modern');
      expect(through).toEqual(wanted);
      // The SDKs lose progress that comes in one piece with the response, so only its order and content count.
      const heard = progress as readonly JsonObject[];
      expect(heard).toMatchObject(server.plan.progress?.steps.slice(0, heard.length) ?? []);
    },
  );

  it.each(AGENTS)('a raw $era client gets, to the last member, what one gets directly', async (agents) => {
    await using agent = await agents.connect(gateway.url, options);
    const through = await tour(rawVisitor(agent), server.plan, 'up.');
    if (server.rawTour !== undefined) {
      expect(through).toEqual(expected('raw', agents.era));
    }
    const steps = server.plan.progress?.steps.map((step) => ({ progressToken: 'token-0', ...step }));
    expect(through['progress']).toMatchObject(steps ?? {});
  });
});
