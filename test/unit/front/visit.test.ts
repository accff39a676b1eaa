import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Allowance } from '../../../src/access/allowance.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { SILENT } from '../../../src/base/log.ts';
import { parseSettings } from '../../../src/config/load.ts';
import type { FrontOptions } from '../../../src/front/front.ts';
import { Regime } from '../../../src/front/regime.ts';
import { createFront, type Front } from '../../../src/front/server.ts';
import { Streams } from '../../../src/front/streams.ts';

/** A front that lets nobody in. Whoever is refused reaches no other room: there is none here. */
function closedFront(): Front {
  const { settings } = parseSettings('upstreams: {}\nlegacySse: { enabled: true }\n', {
    file: 'gateway.yaml',
    env: {},
    readFile: () => '',
    overrides: { port: 0 },
  });
  const authenticate = async () => {
    throw new GatewayError('ORIGIN_REFUSED', { detail: 'Who are you?' });
  };
  const regime = new Regime(settings, authenticate);
  return createFront({
    regime: () => regime,
    streams: new Streams(() => regime, new Allowance(() => settings.limits.perPrincipal)),
    base: () => 'http://127.0.0.1',
    log: SILENT,
  } as unknown as FrontOptions);
}

let front: Front;
let port: number;
beforeAll(async () => {
  front = closedFront();
  port = await front.listen();
});
afterAll(async () => {
  const closed = front.close();
  front.cut();
  await closed;
});

async function answerTo(method: string, path: string, headers: Record<string, string | number> = {}) {
  const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  // The headers only: whatever body they announce never comes.
  sent.flushHeaders();
  const [{ statusCode }] = await once(sent, 'response');
  sent.destroy();
  return statusCode;
}

describe('somebody who is not let in', () => {
  it.each(['/mcp', '/sse', '/mcp?names=strict'])('is refused at %s, whatever the method', async (path) => {
    for (const method of ['POST', 'GET', 'DELETE', 'HEAD', 'PUT', 'PATCH']) {
      expect(await answerTo(method, path), method).toBe(403);
    }
  });

  it.each([
    ['POST', '/mcp', { 'mcp-session-id': 'x' }],
    ['GET', '/mcp', { 'mcp-session-id': 'x', accept: 'text/html' }],
    ['DELETE', '/mcp', { 'mcp-session-id': 'x' }],
    ['POST', '/sse?sessionId=x', {}],
    ['GET', '/sse', { accept: 'text/html' }],
  ])('does not learn what else is wrong with %s %s', async (method, path, headers) => {
    expect(await answerTo(method, path, headers)).toBe(403);
  });

  it.each(['/mcp', '/sse?sessionId=x'])('has sent no body to %s yet', async (path) => {
    const announced = { 'content-type': 'application/json', 'content-length': 1_000 };
    expect(await answerTo('POST', path, announced)).toBe(403);
  });

  it('may still ask what a browser may send', async () => {
    const headers = { origin: `http://127.0.0.1:${port}`, 'access-control-request-method': 'POST' };
    expect(await answerTo('OPTIONS', '/mcp', headers)).toBe(204);
  });
});
