import { type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { parameterHeaders, standardHeaders } from '../fixtures/upstreams/scripted-http-headers.ts';
import { META } from '../fixtures/upstreams/scripted-script.ts';
import type { Agent, AgentOptions } from './agent.ts';
import { createAgent, createWire, type EraParts, noticeStream } from './agent-base.ts';

const NEWEST = '2026-07-28';
const CLIENT = { name: 'modern-agent', version: '1.0.0' };

/** What a modern agent may be told beyond the rest. */
export interface ModernOptions extends AgentOptions {
  /** `logLevel` in the `_meta` of every request. */
  readonly logLevel?: string;
}

/**
 * A client of the 2026-07-28 era: every request carries version, identity and capabilities in `_meta`, mirrored in
 * headers. It mirrors `x-mcp-header` arguments of tools it has listed.
 */
export async function connectModern(url: string, options: ModernOptions = {}): Promise<Agent> {
  const wire = createWire(url, options.headers);
  const version = options.version ?? NEWEST;
  const schemas = new Map<string, unknown>();
  let hello: JsonObject = {};

  const dress: EraParts['dress'] = (method, params, { meta, progressToken }) => {
    const dressed = {
      ...params,
      _meta: {
        ...objectAt(params, '_meta'),
        [META.version]: version,
        [META.clientInfo]: options.clientInfo ?? CLIENT,
        [META.capabilities]: options.capabilities ?? {},
        ...(options.logLevel === undefined ? {} : { [META.logLevel]: options.logLevel }),
        ...(progressToken === undefined ? {} : { progressToken }),
        ...meta,
      },
    };
    const schema = method === 'tools/call' ? schemas.get(stringAt(params, 'name') ?? '') : undefined;
    const headers = {
      ...standardHeaders(method, dressed),
      ...parameterHeaders(schema, objectAt(params, 'arguments') ?? {}),
    };
    return { params: dressed, headers };
  };

  const agent = createAgent(wire, options, {
    era: 'modern',
    version,
    get hello() {
      return hello;
    },
    sessionId: undefined,
    plainHeaders: { accept: 'text/event-stream', 'mcp-protocol-version': version },
    dress,
    listed(kind, items) {
      for (const item of kind === 'tools' ? items : []) {
        schemas.set(String(item['name']), item['inputSchema']);
      }
    },
    async cancel(running) {
      running.abort();
    },
    async listen(self, filter, ask) {
      const notifications = {
        ...(filter.tools ? { toolsListChanged: true } : {}),
        ...(filter.prompts ? { promptsListChanged: true } : {}),
        ...(filter.resources ? { resourcesListChanged: true } : {}),
        ...(filter.uris ? { resourceSubscriptions: filter.uris } : {}),
      };
      const stream = self.begin('subscriptions/listen', { notifications }, ask);
      const first = await stream.next();
      if (first['method'] !== 'notifications/subscriptions/acknowledged') {
        stream.abort();
        throw new Error(`the first message on the listen stream was ${JSON.stringify(first)}`);
      }
      return noticeStream(stream, objectAt(first, 'params'));
    },
  });

  if (options.greet !== false) {
    try {
      hello = await agent.result('server/discover');
    } catch (error) {
      wire.close();
      throw error;
    }
  }
  return agent;
}
