import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** A pair of keys, and how the issuer publishes the public one. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

interface Canned {
  readonly status?: number;
  readonly body: string;
}

export interface TokenOptions {
  /** `undefined` in it leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: IssuerKey;
}

/** An issuer of access tokens whose tokens the test writes itself, with its metadata and keys on a real port. */
export interface TokenIssuer extends AsyncDisposable {
  readonly issuer: string;
  readonly origin: string;
  /** What is published. Change it at will. */
  keys: IssuerKey[];
  /** Paths that were asked for, in order. */
  readonly asked: string[];
  /** Answers by path, before anything else: the rest is `/.well-known/openid-configuration` and `/jwks`. */
  readonly answers: Map<string, Canned>;
  /** While set, every request is answered so; `hang` answers none. */
  trouble: number | 'hang' | undefined;
  /** A good token for `audience`, with the changes asked for. */
  token(audience: string | readonly string[], options?: TokenOptions): Promise<string>;
  /** Stops listening, and listens again on the same port. */
  down(): Promise<void>;
  up(): Promise<void>;
}

export async function createIssuerKey(alg = 'ES256', kid: string = crypto.randomUUID()): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** `path`: of the issuer, such as `/realms/team`. */
export async function startTokenIssuer(path = ''): Promise<TokenIssuer> {
  const asked: string[] = [];
  const answers: TokenIssuer['answers'] = new Map();
  const server = createServer((request, response) => {
    const { url = '' } = request;
    asked.push(url);
    if (self.trouble === 'hang') {
      return;
    }
    const json = (value: unknown): Canned => ({ body: JSON.stringify(value) });
    const answer: Canned =
      answers.get(url) ??
      (url === `${path}/.well-known/openid-configuration`
        ? json({ issuer: self.issuer, jwks_uri: `${self.origin}/jwks` })
        : url === '/jwks'
          ? json({ keys: self.keys.map(({ jwk }) => jwk) })
          : { status: 404, body: '<h1>nothing here</h1>' });
    response.writeHead(self.trouble ?? answer.status ?? 200, { 'content-type': 'application/json' });
    response.end(self.trouble === undefined ? answer.body : 'trouble');
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
  const close = () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    return closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const self: TokenIssuer = {
    issuer: `${origin}${path}`,
    origin,
    keys: [await createIssuerKey()],
    asked,
    answers,
    trouble: undefined,
    token(audience, { claims = {}, header = {}, key = self.keys[0] } = {}) {
      if (key === undefined) {
        throw new Error('the issuer has no key');
      }
      const now = Math.floor(Date.now() / 1_000);
      const given = { iss: self.issuer, sub: 'ann', aud: audience, iat: now, exp: now + 300, ...claims };
      return new SignJWT(given as JWTPayload)
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
        .sign(key.privateKey);
    },
    down: async () => {
      await close();
    },
    up: () => listen(port),
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
  return self;
}
