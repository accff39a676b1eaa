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
  return new PooledEndpoint(about);
}

class PooledEndpoint implements Endpoint {
  readonly #about: HttpTransportOptions;
  readonly #pool: Pool;
  readonly #fixed: Readonly<Record<string, string>>;
  /** Where its own requests go: the configured URL, or where that one redirects to. */
  #home: URL;

  constructor(about: HttpTransportOptions) {
    const { url, headers, timeouts } = about.upstream;
    this.#about = about;
    this.#fixed = configuredHeaders(headers);
    this.#home = new URL(url);
    this.#pool = new Pool(this.#home.origin, {
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeouts.connect,
    });
  }

  ask(ask: EndpointAsk): Promise<Answer> {
    const { upstream, credential } = this.#about;
    const signIn = credential.headers();
    return signIn instanceof Promise
      ? inTime(signIn, ask.signal, upstream.id).then((given) => this.#signed(ask, given))
      : this.#signed(ask, signIn);
  }

  destroy(): Promise<void> {
    return this.#pool.destroy();
  }

  /** Most answers are the final one at once, so they pass through as little as can be. */
  #signed(ask: EndpointAsk, signIn: CredentialHeaders): Promise<Answer> {
    return this.#send(ask, signIn, ask.url ?? this.#home).then((answer) =>
      REDIRECTS.has(answer.status) || REFUSED.has(answer.status)
        ? this.#settled(answer, ask, signIn)
        : answer,
    );
  }

  #send(ask: EndpointAsk, signIn: CredentialHeaders, url: URL): Promise<Answer> {
    const headers = { ...this.#fixed, ...ask.headers, ...signIn };
    return exchange(this.#pool, { ...ask, upstream: this.#about.upstream.id, url, headers });
  }

  /** What was refused with 401 or 403 was not acted on, so it may be sent again with another token: once. */
  async #settled(first: Answer, ask: EndpointAsk, signIn: CredentialHeaders): Promise<Answer> {
    const { upstream, credential } = this.#about;
    const answer = await this.#followed(first, ask, signIn);
    if (!REFUSED.has(answer.status)) {
      return answer;
    }
    if (!credential.refused(signIn, answer.status)) {
      throw await refusal(answer, upstream.id, credential);
    }
    drain(answer.body);
    const { onSent: _sentBefore, ...again } = ask;
    const renewed = await inTime(Promise.resolve(credential.headers()), ask.signal, upstream.id);
    const second = await this.#followed(
      await this.#send(again, renewed, ask.url ?? this.#home),
      again,
      renewed,
    );
    if (REFUSED.has(second.status)) {
      credential.refused(renewed, second.status);
      throw await refusal(second, upstream.id, credential);
    }
    return second;
  }

  /** What its redirects lead to. */
  async #followed(first: Answer, ask: EndpointAsk, signIn: CredentialHeaders): Promise<Answer> {
    const { upstream, log } = this.#about;
    let answer = first;
    for (let hops = 0; REDIRECTS.has(answer.status); hops += 1) {
      drain(answer.body);
      answer = await this.#send(ask, signIn, nextUrl(answer, answer.url, hops, upstream.id));
    }
    if (answer !== first && ask.url === undefined && isWorthKeeping(ask, answer)) {
      this.#home = answer.url;
      const path = answer.url.pathname + answer.url.search;
      log.info({ path }, 'the upstream has moved; its new address is used from now on');
    }
    return answer;
  }
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
