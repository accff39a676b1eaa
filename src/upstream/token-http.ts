import { Agent, type Dispatcher } from 'undici';
import { GatewayError } from '../base/errors.ts';
import { readText } from './http-body.ts';

/** Metadata and token answers are small; what is larger is none. */
const LARGEST_ANSWER = 262_144;
/** Connections to one authorization server: many users at once must not become as many connections. */
const MOST_CONNECTIONS = 8;

/** What `fetch` is for oauth4webapi. */
type Ask = (url: string, request: TokenRequest) => Promise<Response>;

interface TokenRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | undefined;
}

export interface TokenHttp {
  readonly ask: Ask;
  destroy(): Promise<void>;
}

/**
 * HTTP towards authorization servers: bounded in time and size, and no redirect is followed, since client secrets and
 * tokens of users would go with it. A redirect is an answer like any other, with a status that is not 200.
 */
export function createTokenHttp(about: { upstream: string; timeoutMs: number }): TokenHttp {
  const { upstream, timeoutMs } = about;
  const agent = new Agent({
    connections: MOST_CONNECTIONS,
    connectTimeout: timeoutMs,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    allowH2: false,
  });
  return {
    async ask(url, { method, headers, body }) {
      const answer = await agent.request({
        origin: new URL(url).origin,
        path: new URL(url).pathname + new URL(url).search,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers, 'user-agent': 'patchbay' },
        body: body === undefined ? null : body.toString(),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await readText(answer.body, LARGEST_ANSWER, upstream);
      const { statusCode: status } = answer;
      if (status < 200) {
        throw new GatewayError('UPSTREAM_TOKEN', { upstream, logged: `status ${status}` });
      }
      return new Response(text === '' ? null : text, { status, headers: plain(answer.headers) });
    },
    destroy: () => agent.destroy(),
  };
}

function plain(headers: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) {
      result.append(name, one);
    }
  }
  return result;
}
