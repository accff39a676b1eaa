import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import type { OAuthClientProvider as OAuthClientProvider1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as Transport1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JsonObject } from '../../src/base/json.ts';
import { type AuthorizationServer, REDIRECT } from './authorization-server.ts';
import type { SdkLabel } from './sdk-clients.ts';

/** An official client that signs its user in by itself, as its applications let it do. */
export interface SignedInClient extends AsyncDisposable {
  names(): Promise<string[]>;
  /** Goes to the authorization server once more where the gateway asks for more scopes. */
  call(name: string, args?: JsonObject): Promise<JsonObject>;
  /** Scopes that were asked for, at each visit of the user to the authorization server. */
  readonly visits: readonly (string | null)[];
  /** The access token it has now. */
  readonly token: string;
  close(): Promise<void>;
}

interface SignInOptions {
  /** `known`: the client that the authorization server knows before; otherwise it registers itself. */
  readonly as?: 'known';
  /** Hears every secret that the client got. */
  readonly gaveOut?: (secret: string) => void;
}

/** What the client keeps of its user, and the browser of that user, who needs no screen. */
class Visitor {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: 'test client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  readonly visits: (string | null)[] = [];
  readonly #server: AuthorizationServer;
  readonly #gaveOut: (secret: string) => void;
  #client: unknown;
  #tokens: { readonly access_token: string } | undefined;
  #discovery: unknown;
  #verifier = '';
  #callback: Promise<URL> | undefined;

  constructor(server: AuthorizationServer, { as, gaveOut = () => {} }: SignInOptions) {
    this.#server = server;
    this.#gaveOut = gaveOut;
    const { id, secret } = server.client;
    const { issuer } = server;
    this.#client = as === 'known' ? { client_id: id, client_secret: secret, issuer } : undefined;
  }

  /** The redirect that brought the user back, once. */
  takeCallback(): Promise<URL> | undefined {
    const callback = this.#callback;
    this.#callback = undefined;
    return callback;
  }

  clientInformation() {
    return this.#client as undefined;
  }

  saveClientInformation(client: unknown): void {
    this.#client = client;
  }

  tokens() {
    return this.#tokens as undefined;
  }

  get token(): string {
    return this.#tokens?.access_token ?? '';
  }

  saveTokens(tokens: { readonly access_token: string; readonly refresh_token?: string | undefined }): void {
    this.#tokens = tokens;
    this.#gaveOut(tokens.access_token);
    if (tokens.refresh_token !== undefined) {
      this.#gaveOut(tokens.refresh_token);
    }
  }

  saveDiscoveryState(state: unknown): void {
    this.#discovery = state;
  }

  discoveryState() {
    return this.#discovery as undefined;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
    this.#gaveOut(verifier);
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  redirectToAuthorization(url: URL): void {
    this.visits.push(url.searchParams.get('scope'));
    this.#callback = this.#server.authorize(url);
  }
}

/** One of the official clients with its transport, not connected yet. */
interface Made {
  connect(): Promise<void>;
  finish(callback: URL): Promise<void>;
  names(): Promise<string[]>;
  call(name: string, args: JsonObject): Promise<unknown>;
  close(): Promise<void>;
}

const NAME = { name: 'signed-in-client', version: '1.0.0' };

function makeV1(url: URL, visitor: Visitor): Made {
  const client = new Client1(NAME);
  const transport = new Http1(url, { authProvider: visitor as OAuthClientProvider1 });
  return {
    connect: () => client.connect(transport as Transport1),
    finish: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

function makeV2(label: Exclude<SdkLabel, 'v1'>, url: URL, visitor: Visitor): Made {
  const modes = { 'v2-auto': 'auto', 'v2-legacy': 'legacy', 'v2-modern': { pin: '2026-07-28' } } as const;
  const client = new Client2(NAME, { versionNegotiation: { mode: modes[label] } });
  const transport = new Http2(url, { authProvider: visitor as OAuthClientProvider });
  return {
    connect: () => client.connect(transport),
    finish: (callback) => transport.finishAuth(callback.searchParams),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

/**
 * Connects, signing its user in on the way. A client that wanted a sign-in is given up for a new one, which finds the
 * tokens.
 */
export async function signIn(
  label: SdkLabel,
  url: string,
  server: AuthorizationServer,
  options: SignInOptions = {},
): Promise<SignedInClient> {
  const visitor = new Visitor(server, options);
  const make = () => (label === 'v1' ? makeV1(new URL(url), visitor) : makeV2(label, new URL(url), visitor));
  const finished = async (made: Made, thrown: unknown) => {
    const callback = await visitor.takeCallback();
    if (callback === undefined) {
      throw thrown;
    }
    await made.finish(callback);
  };
  let made = make();
  try {
    await made.connect();
  } catch (thrown) {
    await finished(made, thrown);
    await made.close();
    made = make();
    await made.connect();
  }
  return {
    names: () => made.names(),
    async call(name, args = {}) {
      try {
        return (await made.call(name, args)) as JsonObject;
      } catch (thrown) {
        await finished(made, thrown);
        return (await made.call(name, args)) as JsonObject;
      }
    },
    visits: visitor.visits,
    get token() {
      return visitor.token;
    },
    close: () => made.close(),
    [Symbol.asyncDispose]: () => made.close(),
  };
}
