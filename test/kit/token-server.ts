import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWaits } from './waits.ts';

/** How it behaves. Can be changed while it runs. */
export interface TokenServerHabits {
  /** Seconds that a token holds; null leaves `expires_in` out. Default 3600. */
  readonly lifetime?: number | null;
  /** Answers every token request so. */
  readonly answer?: {
    readonly status: number;
    readonly body?: unknown;
    readonly headers?: Record<string, string>;
  };
  /** Members put over those of a good answer. */
  readonly over?: Record<string, unknown>;
  /** Hands back the token that was to be exchanged. */
  readonly echo?: boolean;
  /** Keeps token requests waiting until `release()`. */
  readonly hold?: boolean;
  /** Members put over those of its metadata. */
  readonly metadata?: Record<string, unknown>;
  /** Where its metadata is; default `oauth2`, the place of RFC 8414. */
  readonly place?: 'oauth2' | 'oidc' | 'none';
}

/** Whom a token was made for. */
export interface Issued {
  /** `gateway` for a token of its own (client credentials). */
  readonly subject: string;
  readonly resource: string | undefined;
  readonly audience: string | undefined;
  readonly scope: string | undefined;
  /** ms since the epoch. */
  readonly ends: number;
}

export interface TokenRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
}

/** A small authorization server: client credentials and token exchange, with everything it was asked. */
export interface TokenServer extends AsyncDisposable {
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Token requests, in the order they came. */
  readonly requests: readonly TokenRequest[];
  /** Reads of its metadata. */
  readonly discoveries: number;
  /** Every token it ever gave. */
  readonly tokens: readonly string[];
  /** A token that a user signs in to the gateway with, and that can be exchanged here. */
  subjectToken(user: string): string;
  /** From now on this token, of another server, can be exchanged too, for ones of that user. */
  trust(token: string, user: string): void;
  /** From now on this token cannot be exchanged any more. */
  distrust(token: string): void;
  /** Whom the token is for, while it holds. */
  whois(token: string): Issued | undefined;
  /** Every token given so far holds no more; subject tokens stay. */
  revokeAll(): void;
  change(habits: TokenServerHabits): void;
  release(): void;
  untilAsked(times: number): Promise<unknown>;
  /** Its port refuses from now on. */
  kill(): Promise<void>;
}

export async function startTokenServer(given: TokenServerHabits = {}): Promise<TokenServer> {
  const clientId = 'patchbay-client';
  const clientSecret = 's+cr/t: 100% & "more"';
  let habits = given;
  let discoveries = 0;
  const requests: TokenRequest[] = [];
  const issued = new Map<string, Issued>();
  const subjects = new Map<string, string>();
  const waits = createWaits();
  const held: (() => void)[] = [];

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tenant`;
  const { origin } = new URL(issuer);
  const places = {
    oauth2: '/.well-known/oauth-authorization-server/tenant',
    oidc: '/tenant/.well-known/openid-configuration',
    none: '',
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET' && request.url === places[habits.place ?? 'oauth2']) {
      discoveries += 1;
      const metadata = { issuer, token_endpoint: `${origin}/token`, ...habits.metadata };
      json(response, 200, metadata);
    } else if (request.method === 'POST' && request.url === '/token') {
      const params = Object.fromEntries(new URLSearchParams(await textOf(request)));
      requests.push({ params, headers: request.headers });
      waits.check();
      if (habits.hold === true) {
        await new Promise<void>((resolve) => held.push(resolve));
      }
      grant(params, request, response);
    } else {
      json(response, 404, { error: 'not_found' });
    }
  }

  function grant(params: Record<string, string>, request: IncomingMessage, response: ServerResponse): void {
    if (habits.answer !== undefined) {
      json(response, habits.answer.status, habits.answer.body ?? {}, habits.answer.headers);
      return;
    }
    if (!isClient(params, request)) {
      json(response, 401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="tokens"' });
      return;
    }
    const exchange = params['grant_type'] === 'urn:ietf:params:oauth:grant-type:token-exchange';
    const presented = params['subject_token'] ?? '';
    const subject = exchange ? subjects.get(presented) : 'gateway';
    if (subject === undefined) {
      // As servers do that say too much.
      json(response, 400, { error: 'invalid_request', error_description: `unknown token ${presented}` });
      return;
    }
    const text = habits.echo === true ? presented : `up-${randomBytes(24).toString('base64url')}`;
    const lifetime = habits.lifetime === undefined ? 3600 : habits.lifetime;
    issued.set(text, {
      subject,
      resource: params['resource'],
      audience: params['audience'],
      scope: params['scope'],
      ends: Date.now() + (lifetime ?? 3600) * 1_000,
    });
    json(response, 200, {
      access_token: text,
      token_type: 'Bearer',
      ...(lifetime === null ? {} : { expires_in: lifetime }),
      ...(exchange ? { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' } : {}),
      ...habits.over,
    });
  }

  function isClient(params: Record<string, string>, request: IncomingMessage): boolean {
    const [scheme, coded = ''] = (request.headers.authorization ?? '').split(' ');
    const given =
      scheme === 'Basic'
        ? Buffer.from(coded, 'base64').toString('utf8').split(':').map(formDecoded)
        : [params['client_id'], params['client_secret']];
    return given[0] === clientId && given[1] === clientSecret;
  }

  const kill = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  return {
    issuer,
    tokenUrl: `${origin}/token`,
    clientId,
    clientSecret,
    requests,
    get discoveries() {
      return discoveries;
    },
    get tokens() {
      return [...issued.keys()];
    },
    subjectToken(user) {
      const text = `user-${randomBytes(24).toString('base64url')}`;
      subjects.set(text, user);
      return text;
    },
    trust(token, user) {
      subjects.set(token, user);
    },
    distrust(token) {
      subjects.delete(token);
    },
    whois(token) {
      const found = issued.get(token);
      return found !== undefined && found.ends > Date.now() ? found : undefined;
    },
    revokeAll() {
      for (const [token, about] of issued) {
        issued.set(token, { ...about, ends: 0 });
      }
    },
    change(next) {
      habits = next;
    },
    release() {
      habits = { ...habits, hold: false };
      for (const resume of held.splice(0)) {
        resume();
      }
    },
    untilAsked: (times) =>
      waits.until(
        () => requests[times - 1],
        () => `the token server was asked ${requests.length} times, not ${times}`,
      ),
    kill,
    [Symbol.asyncDispose]: () => (server.listening ? kill() : Promise.resolve()),
  };
}

/** Client id and secret are form-encoded inside the Basic scheme (RFC 6749, 2.3.1). */
function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) {
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
