import { Pool } from 'undici';
import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { HttpUpstream } from '../config/settings.ts';
import { headerOf } from '../protocol/headers.ts';
import { announced } from './http-answer.ts';
import { drain } from './http-body.ts';
import { type Answer, type Ask, exchange } from './http-exchange.ts';

type EndpointAsk = Pick<Ask, 'method' | 'headers' | 'body' | 'signal' | 'onSent'> & {
  /** Defaults to the endpoint's own URL. Always of the same origin. */
  readonly url?: URL;
};

/** One upstream's URL: its connections, its configured headers, and where its redirects led. */
export interface Endpoint {
  /** Resolves with the final answer, redirects followed; rejects like {@link exchange}, or with UPSTREAM_REDIRECT. */
  ask(ask: EndpointAsk): Promise<Answer & { readonly url: URL }>;
  /** Ends every connection at once. */
  destroy(): Promise<void>;
}

/**
 * Idle connections are given up before firewalls and the usual 5 s server limit do it without a word (C-046). A hint of
 * the server can only shorten this.
 */
const KEEP_ALIVE_MS = 4_000;
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Written by HTTP itself; a configured value could only break the framing. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * HTTP/1.1 only: one exchange owns its connection, so closing a stream cancels that call and nothing else. Neither
 * headers nor bodies time out here: calls may be long and streams silent, and whoever asked has a deadline of its own.
 */
export function createEndpoint({ upstream, log }: { upstream: HttpUpstream; log: Log }): Endpoint {
  const configured = new URL(upstream.url);
  const pool = new Pool(configured.origin, {
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: upstream.timeouts.connect,
  });
  const fixed = configuredHeaders(upstream.headers);
  let home = configured;
  return {
    async ask(ask) {
      let url = ask.url ?? home;
      for (let hops = 0; ; hops += 1) {
        const headers = { ...fixed, ...ask.headers };
        const path = url.pathname + url.search;
        const answer = await exchange(pool, { ...ask, upstream: upstream.id, path, headers });
        if (!REDIRECTS.has(answer.status)) {
          if (hops > 0 && ask.url === undefined && isWorthKeeping(ask, answer)) {
            home = url;
            log.info({ path }, 'the upstream has moved; its new address is used from now on');
          }
          return { ...answer, url };
        }
        drain(answer.body);
        url = nextUrl(answer, url, hops, upstream.id);
      }
    },
    destroy: () => pool.destroy(),
  };
}

/** Where a redirect leads (C-043). Throws UPSTREAM_REDIRECT for another origin or scheme, a loop, or nowhere. */
function nextUrl(answer: Answer, from: URL, hops: number, upstream: string): URL {
  const location = headerOf(answer.headers, 'location') ?? '';
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  const logged = `status ${answer.status} to ${location.slice(0, 200)}`;
  if (location === '' || target === undefined) {
    throw new GatewayError('UPSTREAM_REDIRECT', { upstream, detail: 'It names no target.', logged });
  }
  if (target.origin !== from.origin) {
    // Credentials would go with it, and an inner address could be its target.
    throw new GatewayError('UPSTREAM_REDIRECT', {
      upstream,
      detail: 'The target is another origin.',
      logged,
    });
  }
  if (hops + 1 > MOST_REDIRECTS) {
    throw new GatewayError('UPSTREAM_REDIRECT', { upstream, detail: 'There are too many in a row.', logged });
  }
  return target;
}

/**
 * A redirect is remembered once it proved to lead to an MCP endpoint, so a login page is not. Every redirect of a POST
 * is followed as POST: for 307 and 308 HTTP says so, and with 301 to 303 a GET could not mean what was asked.
 */
function isWorthKeeping(ask: EndpointAsk, answer: Answer): boolean {
  const kind = announced(answer.status, answer.headers);
  return ask.method === 'POST' && (kind === 'events' || kind === 'nothing' || kind === 'json');
}

function configuredHeaders(headers: HttpUpstream['headers']): Record<string, string> {
  const result: Record<string, string> = { 'user-agent': 'patchbay' };
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (value !== '' && !FRAMING.has(lower)) {
      result[lower] = value;
    }
  }
  return result;
}
