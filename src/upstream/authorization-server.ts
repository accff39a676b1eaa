import * as oauth from 'oauth4webapi';
import type { Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import { readSigningKey, type SigningKey } from '../base/signing-key.ts';
import { after, backoff } from '../base/time.ts';
import type { HttpUpstream } from '../config/settings.ts';
import { signedBy } from './client-assertion.ts';
import { judgeTokenRefusal, type TokenFault, tokenFault } from './token-faults.ts';
import { createTokenHttp, type TokenHttp } from './token-http.ts';

export interface IssuedToken {
  readonly text: string;
  /** For how long it holds from when it was asked for, in ms; undefined: the server did not say. */
  readonly lifetimeMs: number | undefined;
}

const BASIC = 'client_secret_basic';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** Forms in which an exchanged token can be sent as a bearer token (RFC 8693, 3). */
const USABLE: ReadonlySet<unknown> = new Set([
  undefined,
  ACCESS_TOKEN,
  'urn:ietf:params:oauth:token-type:jwt',
]);
/** A token that a header can carry as it is (RFC 6750, 2.1, and what servers make of it). */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Metadata is read again after this: endpoints and methods change, if seldom. */
const METADATA_MS = 3_600_000;
/** Between tries while the server is down or refuses the gateway: it must not be asked by every call. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;

/**
 * The authorization server of one upstream, as its configuration names it: no other is ever spoken to. Its metadata
 * counts only when it names that very issuer (RFC 8414, 3.3).
 */
export class AuthorizationServer {
  readonly #upstream: HttpUpstream;
  readonly #http: TokenHttp;
  readonly #insecure: boolean;
  readonly #key: SigningKey | undefined;
  #metadata: Promise<oauth.AuthorizationServer> | undefined;
  #forget = () => {};
  #rest: { readonly error: GatewayError; readonly until: number; readonly failures: number } | undefined;

  constructor(upstream: HttpUpstream) {
    const { issuer, tokenUrl = '', clientKey } = upstream.credentials;
    this.#upstream = upstream;
    this.#http = createTokenHttp({ upstream: upstream.id, timeoutMs: upstream.timeouts.connect });
    this.#key = clientKey === undefined ? undefined : signingKey(clientKey);
    this.#insecure = new URL(issuer ?? tokenUrl).protocol === 'http:';
  }

  /**
   * A token of the gateway itself, or one for this user in exchange for the user's own (RFC 8693). Rejects with
   * UPSTREAM_TOKEN, or with UPSTREAM_AUTH where the server gives none for this user; at once while it is to be left alone.
   */
  async token(user: Principal | undefined): Promise<IssuedToken> {
    const rest = this.#rest;
    if (rest !== undefined && Date.now() < rest.until) {
      throw rest.error;
    }
    let found = false;
    let fault: TokenFault;
    try {
      const server = await this.#server();
      found = true;
      const answer = await this.#ask(server, user);
      if (!('error' in answer)) {
        this.#rest = undefined;
        return answer;
      }
      fault = answer;
    } catch (thrown) {
      fault = tokenFault(thrown, this.#upstream.id);
    }
    if (fault.everybodys || !found) {
      this.#leaveAlone(fault.error);
    }
    throw fault.error;
  }

  close(): Promise<void> {
    this.#forget();
    return this.#http.destroy();
  }

  /** What everybody would hear is not asked for again for a while; of many that fail together the first counts. */
  #leaveAlone(error: GatewayError): void {
    const before = this.#rest;
    if (before !== undefined && Date.now() < before.until) {
      return;
    }
    const failures = (before?.failures ?? 0) + 1;
    const asked = error.data?.['retryAfterMs'];
    const own = backoff(failures - 1, FIRST_REST_MS, LONGEST_REST_MS);
    const wait = typeof asked === 'number' ? Math.min(Math.max(asked, own), LONGEST_REST_MS) : own;
    this.#rest = { error, until: Date.now() + wait, failures };
    this.#forgetMetadata(); // its endpoints may have moved
  }

  async #ask(
    server: oauth.AuthorizationServer,
    user: Principal | undefined,
  ): Promise<IssuedToken | TokenFault> {
    const { credentials, url, id } = this.#upstream;
    const subject = user === undefined ? undefined : subjectOf(user, id);
    const parameters = new URLSearchParams({ resource: credentials.resource ?? url.replace(/#.*$/, '') });
    for (const key of ['scope', 'audience'] as const) {
      const value = credentials[key];
      if (value !== undefined) {
        parameters.set(key, value);
      }
    }
    if (subject !== undefined) {
      parameters.set('subject_token', subject);
      parameters.set('subject_token_type', ACCESS_TOKEN);
      parameters.set('requested_token_type', ACCESS_TOKEN);
    }
    const client = { client_id: credentials.clientId ?? '' };
    const signIn = this.#signInAt(server);
    const grant = subject === undefined ? 'client_credentials' : EXCHANGE;
    const response = await oauth.genericTokenEndpointRequest(server, client, signIn, grant, parameters, {
      ...this.#options,
    });
    if (response.status !== 200) {
      return judgeTokenRefusal({
        upstream: id,
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
        forUser: subject !== undefined,
      });
    }
    const issued = await oauth.processGenericTokenEndpointResponse(server, client, response);
    return this.#checked(issued, subject);
  }

  /** Throws UPSTREAM_TOKEN where the server takes nothing that the gateway has. */
  #signInAt(server: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret = '', clientKeyId } = this.#upstream.credentials;
    const {
      token_endpoint_auth_methods_supported: methods,
      token_endpoint_auth_signing_alg_values_supported: takes,
    } = server;
    const signIn =
      this.#key === undefined ? withSecret(clientSecret, methods) : withKey(this.#key, clientKeyId, server);
    if (signIn === undefined) {
      const has = this.#key === undefined ? 'client secret' : 'assertion that this gateway can sign';
      throw new GatewayError('UPSTREAM_TOKEN', {
        upstream: this.#upstream.id,
        detail: `Its authorization server takes no ${has}.`,
        logged: `it takes ${[...(methods ?? []), ...(takes ?? [])].join(', ').slice(0, 200)}`,
      });
    }
    return signIn;
  }

  #checked(issued: oauth.TokenEndpointResponse, subject: string | undefined): IssuedToken {
    const { access_token: text, token_type: type, issued_token_type: form, expires_in: seconds } = issued;
    // A server that hands the user's own token back would make us pass it on (spec: security best practices).
    if (type !== 'bearer' || !USABLE.has(form) || !SENDABLE.test(text) || text === subject) {
      throw new GatewayError('UPSTREAM_TOKEN', {
        upstream: this.#upstream.id,
        detail: 'Its authorization server gave a token that cannot be used.',
        logged: text === subject ? 'it is the one that was to be exchanged' : `its type: ${type}`,
      });
    }
    return { text, lifetimeMs: seconds === undefined ? undefined : seconds * 1_000 };
  }

  /** One discovery however many ask; one that failed is not remembered. */
  #server(): Promise<oauth.AuthorizationServer> {
    const { issuer, tokenUrl } = this.#upstream.credentials;
    if (tokenUrl !== undefined) {
      return Promise.resolve({ issuer: tokenUrl, token_endpoint: tokenUrl });
    }
    if (this.#metadata === undefined) {
      const metadata = this.#discover(new URL(issuer ?? ''));
      this.#metadata = metadata;
      this.#forget = after(METADATA_MS, () => this.#forgetMetadata());
      metadata.catch(() => this.#metadata === metadata && this.#forgetMetadata());
    }
    return this.#metadata;
  }

  #forgetMetadata(): void {
    this.#forget();
    this.#metadata = undefined;
  }

  /** The place of RFC 8414 first, then that of OpenID Connect, in the order that the MCP specification gives. */
  async #discover(issuer: URL): Promise<oauth.AuthorizationServer> {
    const first = await oauth.discoveryRequest(issuer, { ...this.#options, algorithm: 'oauth2' });
    const answer = first.ok
      ? first
      : await oauth.discoveryRequest(issuer, { ...this.#options, algorithm: 'oidc' });
    return oauth.processDiscoveryResponse(issuer, answer);
  }

  get #options() {
    return { [oauth.customFetch]: this.#http.ask, [oauth.allowInsecureRequests]: this.#insecure };
  }
}

/** The method of the metadata that we have, `client_secret_basic` first: it is the default (RFC 8414, 2). */
function withSecret(secret: string, methods: readonly string[] = [BASIC]): oauth.ClientAuth | undefined {
  if (methods.includes(BASIC)) {
    return basic(secret);
  }
  return methods.includes('client_secret_post') ? oauth.ClientSecretPost(secret) : undefined;
}

/** Where the metadata is silent about methods, somebody has registered the key there all the same. */
function withKey(
  signing: SigningKey,
  id: string | undefined,
  server: oauth.AuthorizationServer,
): oauth.ClientAuth | undefined {
  const {
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: takes,
  } = server;
  return methods?.includes('private_key_jwt') === false ? undefined : signedBy(signing, id, takes);
}

/**
 * Form-encoded before it is joined (RFC 6749, 2.3.1), and no further than that asks for: many servers do not decode, and
 * are served as long as nothing had to be encoded. The library encodes hyphens and dots too, which most ids have.
 */
function basic(secret: string): oauth.ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, { client_id: id }, _body, headers) => {
    const pair = Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString('base64');
    headers.set('authorization', `Basic ${pair}`);
  };
}

function subjectOf(user: Principal, upstream: string): string {
  const subject = user.presented?.();
  if (subject === undefined || subject === '') {
    const detail = 'You came without a token that could be exchanged: sign in.';
    throw new GatewayError('UPSTREAM_AUTH', { upstream, detail });
  }
  return subject;
}

/** What is none was refused when the configuration was read. */
function signingKey(text: string): SigningKey {
  const read = readSigningKey(text);
  if ('fault' in read) {
    throw new GatewayError('INTERNAL', { logged: `clientKey ${read.fault}` });
  }
  return read;
}
