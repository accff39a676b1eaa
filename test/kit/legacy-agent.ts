import type { JsonObject } from '../../src/base/json.ts';
import type { Agent, AgentOptions, HeaderChanges } from './agent.ts';
import { createAgent, createWire, noticeStream, resultOf } from './agent-base.ts';

const NEWEST = '2025-11-25';
const CLIENT = { name: 'legacy-agent', version: '1.0.0' };

/**
 * A client of the 2025-11-25 era and earlier: `initialize`, a session, a GET stream. With `greet: false` it has no
 * session and adds nothing to what it is told to send.
 */
export async function connectLegacy(url: string, options: AgentOptions = {}): Promise<Agent> {
  const wire = createWire(url, options.headers);
  const wanted = options.version ?? NEWEST;
  let version = wanted;
  let sessionId: string | undefined;
  let hello: JsonObject = {};

  const sessionHeaders = (): HeaderChanges => ({
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    // The header came with 2025-06-18; older clients never send it.
    ...(sessionId !== undefined && version >= '2025-06-18' ? { 'mcp-protocol-version': version } : {}),
  });

  if (options.greet !== false) {
    try {
      const answer = await wire.send({
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...initialize(wire.nextId(), wanted, options),
      }).done;
      hello = resultOf(answer);
      sessionId = answer.headers['mcp-session-id'];
      version = String(hello['protocolVersion'] ?? wanted);
    } catch (error) {
      wire.close();
      throw error;
    }
  }

  const agent = createAgent(wire, options, {
    era: 'legacy',
    version,
    hello,
    sessionId,
    get plainHeaders() {
      return { accept: 'text/event-stream', ...sessionHeaders() };
    },
    dress(_method, params, { meta, progressToken }) {
      const token = progressToken === undefined ? {} : { progressToken };
      const given = meta || progressToken !== undefined ? { _meta: { ...meta, ...token } } : {};
      return { params: { ...params, ...given }, headers: sessionHeaders() };
    },
    async cancel(running) {
      await agent.notify('notifications/cancelled', { requestId: running.id, reason: 'test' });
    },
    async listen(self, filter, { headers = {} }) {
      const stream = self.http('GET', headers);
      const { status } = await stream.opened;
      if (status !== 200) {
        stream.abort();
        throw new Error(`the GET stream was answered ${status}`);
      }
      for (const uri of filter.uris ?? []) {
        await self.result('resources/subscribe', { uri });
      }
      return noticeStream(stream, undefined);
    },
  });

  if (options.greet !== false) {
    await agent.notify('notifications/initialized');
  }
  return agent;
}

function initialize(id: string | number, protocolVersion: string, options: AgentOptions) {
  const params = {
    protocolVersion,
    capabilities: options.capabilities ?? {},
    clientInfo: options.clientInfo ?? CLIENT,
  };
  return { id, body: { jsonrpc: '2.0', id, method: 'initialize', params } };
}
