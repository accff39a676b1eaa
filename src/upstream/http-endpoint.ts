import { Pool } from 'undici';
import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { HttpUpstream } from '../config/settings.ts';
import { headerOf } from '../protocol/headers.ts';
import type { Credential, CredentialHeaders } from './credentials.ts';
import { fromNetwork } from './foreign-errors.ts';
import { announced, judgeRefusal } from './http-answer.ts';
import { decodedBody, drain, readStart } from './http-body.ts';
import { type Answer, type Ask, exchange } from './http-exchange.ts';

export interface HttpTransportOptions {
  readonly upstream: HttpUpstream;
  /** What each request signs in with. */
  readonly credential: Credential;
  readonly log: Log;
}

type EndpointAsk = Pick<Ask, 'method' | 'headers' | 'body' | 'signal' | 'onSent'> & {
  /** Defaults to the endpoint's own URL. Always of the same origin. */
  readonly url?: URL;
};

/** One upstream's URL: its connections, its configured headers, its credential, and where its redirects led. */
export interface Endpoint {
  /**
   * Resolves with the final answer, redirects followed; rejects like {@link exchange}, with UPSTREAM_REDIRECT, with
   * UPSTREAM_AUTH for 401 and 403, or with UPSTREAM_TOKEN before anything was sent.
   */
  ask(ask: EndpointAsk): Promise<Answer>;
  /** Ends every connection at once. */
  destroy(): Promise<void>;
}

/**
 * Idle connections are given up before firewalls and the usual 5 s server limit do it without a word (C-046). A hint of
 * the server can only shorten this.
 */
const KEEP_ALIVE_MS = 4_000;
const MOST_REDIRECTS = 5;
const REFUSAL_BYTES = 4_096;
const REFUSED: ReadonlySet<number> = new Set([401, 403]);
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
export function createEndpoint(about: HttpTransportOptions): Endpoint {
  const { upstream, credential, log } = about;
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
  /** One request with these headers to where it is answered, redirects followed. */
  const follow = async (ask: EndpointAsk, signIn: CredentialHeaders) => {
    let url = ask.url ?? home;
    for (let hops = 0; ; hops += 1) {
      const headers = { ...fixed, ...ask.headers, ...signIn };
      const answer = await exchange(pool, { ...ask, upstream: upstream.id, url, headers });
      if (!REDIRECTS.has(answer.status)) {
        if (hops > 0 && ask.url === undefined && isWorthKeeping(ask, answer)) {
          home = url;
          log.info(
            { path: url.pathname + url.search },
            'the upstream has moved; its new address is used from now on',
          );
        }
        return answer;
      }
      drain(answer.body);
      url = nextUrl(answer, url, hops, upstream.id);
    }
  };
  return {
    /** What was refused with 401 or 403 was not acted on, so it may be sent again with another token: once. */
    async ask(ask) {
      const given = credential.headers();
      const signIn = given instanceof Promise ? await inTime(given, ask.signal, upstream.id) : given;
      const answer = await follow(ask, signIn);
      if (!REFUSED.has(answer.status)) {
        return answer;
      }
      if (!credential.refused(signIn, answer.status)) {
        throw await refusal(answer, upstream.id, credential);
      }
      drain(answer.body);
      const { onSent: _sentBefore, ...again } = ask;
      const renewed = await inTime(Promise.resolve(credential.headers()), ask.signal, upstream.id);
      const second = await follow(again, renewed);
      if (REFUSED.has(second.status)) {
        credential.refused(renewed, second.status);
        throw await refusal(second, upstream.id, credential);
      }
      return second;
    },
    destroy: () => pool.destroy(),
  };
}

/** A token may take a while to come; whoever gave up does not wait for it. */
function inTime<T>(work: Promise<T>, signal: EndSignal, upstream: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(fromNetwork(signal.reason, { upstream, sent: false }));
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    if (signal.aborted) {
      stop();
    }
  });
}

async function refusal(answer: Answer, upstream: string, { advice }: Credential): Promise<GatewayError> {
  const { status, headers } = answer;
  const body = await readStart(decodedBody(answer, upstream), REFUSAL_BYTES);
  return judgeRefusal({ upstream, status, headers, body, id: undefined, sentSession: false, advice });
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
