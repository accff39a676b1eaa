import { GatewayError } from '../base/errors.ts';
import { type HeaderMap, headerOf } from '../protocol/headers.ts';

/**
 * Who may talk to this server at all, judged before anything else is done (spec: streamable-http, Security; cases
 * C-092, C-093). Forwarded headers are never looked at.
 */
export interface GuardRule {
  /** Host the server is bound to, and the port it really listens on. */
  readonly host: string;
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly publicUrl: string | undefined;
}

export interface Verdict {
  readonly refusal: GatewayError | undefined;
  /** CORS headers of the answer, errors included: without them a browser client cannot even read why. */
  readonly headers: Readonly<Record<string, string>>;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const IP_LITERAL = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])$/;

/** What browsers may send and read; `mcp-param-*` is echoed as asked. */
const ALLOWED_HEADERS = [
  'accept',
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'x-api-key',
] as const;
const EXPOSED_HEADERS = 'Mcp-Session-Id, WWW-Authenticate, Retry-After';

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}

/** Judges Host and Origin of one request. */
export function judgeRequest(headers: HeaderMap, rule: GuardRule): Verdict {
  const host = headerOf(headers, 'host');
  if (host === undefined || !hostAllowed(host.toLowerCase(), rule)) {
    return { refusal: new GatewayError('HOST_REFUSED'), headers: {} };
  }
  const origin = headers['origin'];
  if (origin === undefined) {
    return { refusal: undefined, headers: {} };
  }
  if (typeof origin !== 'string' || !originAllowed(origin, host.toLowerCase(), rule)) {
    return { refusal: new GatewayError('ORIGIN_REFUSED'), headers: { vary: 'Origin' } };
  }
  return {
    refusal: undefined,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED_HEADERS,
      vary: 'Origin',
    },
  };
}

/** The answer to a preflight of an allowed origin (Fetch standard, CORS-preflight). */
export function preflightHeaders(headers: HeaderMap): Record<string, string> {
  const asked = (headerOf(headers, 'access-control-request-headers') ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => /^mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name));
  return {
    'access-control-allow-methods': 'POST, GET, DELETE, OPTIONS',
    'access-control-allow-headers': [...ALLOWED_HEADERS, ...asked].join(', '),
    'access-control-max-age': '600',
  };
}

/**
 * On loopback only loopback names with the right port pass. Elsewhere the names of the configuration do, loopback
 * names (a mapped port differs from ours), and IP literals: DNS rebinding needs a name.
 */
function hostAllowed(host: string, rule: GuardRule): boolean {
  const { name, port } = splitPort(host);
  if (
    listed(host, name, rule.allowedHosts) ||
    (rule.publicUrl !== undefined && isAuthorityOf(host, new URL(rule.publicUrl)))
  ) {
    return true;
  }
  if (isLoopback(rule.host)) {
    return LOOPBACK.test(name) && port === String(rule.port);
  }
  return LOOPBACK.test(name) || IP_LITERAL.test(name);
}

/** A URL loses its port where that is its scheme's own; a proxy or client may name it all the same (RFC 9110, 4.2.3). */
function isAuthorityOf(host: string, { host: authority, protocol, port }: URL): boolean {
  return (
    host === authority || (port === '' && host === `${authority}:${protocol === 'https:' ? '443' : '80'}`)
  );
}

function listed(host: string, name: string, allowed: readonly string[]): boolean {
  return allowed.some(
    (entry) => entry === '*' || entry.toLowerCase() === host || entry.toLowerCase() === name,
  );
}

/** An origin passes when it is configured, or when the page comes from this very server. */
function originAllowed(origin: string, host: string, rule: GuardRule): boolean {
  if (
    rule.allowedOrigins.includes(origin) ||
    (rule.publicUrl !== undefined && origin === new URL(rule.publicUrl).origin)
  ) {
    return true;
  }
  return origin.toLowerCase() === `http://${host}`;
}

function splitPort(host: string): { readonly name: string; readonly port: string } {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host);
  return { name: match?.[1] ?? '', port: match?.[2] ?? '80' };
}

export interface Forms {
  readonly json: boolean;
  readonly sse: boolean;
}

const ANY: Forms = { json: true, sse: true };

/** Forms by the text of the header: clients send the same few again and again. */
const knownForms = new Map<string, Forms>();
const MOST_KNOWN = 64;
const LONGEST_KNOWN = 256;

/** What a client may be answered with, by its Accept header; absent means anything (RFC 9110, 12.5.1). */
export function acceptedForms(accept: string | undefined): Forms {
  if (accept === undefined) {
    return ANY;
  }
  const known = knownForms.get(accept);
  if (known !== undefined) {
    return known;
  }
  const forms = readForms(accept);
  if (accept.length <= LONGEST_KNOWN) {
    if (knownForms.size >= MOST_KNOWN) {
      knownForms.clear();
    }
    knownForms.set(accept, forms);
  }
  return forms;
}

function readForms(accept: string): Forms {
  const types = accept.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase() ?? '');
  const any = types.includes('*/*');
  return {
    json: any || types.includes('application/json') || types.includes('application/*'),
    sse: any || types.includes('text/event-stream') || types.includes('text/*'),
  };
}

/** Throws ACCEPT_REFUSED where the client of `what` takes no event stream: there is nothing else to answer it with. */
export function requireEventStream(headers: HeaderMap, what = 'A GET'): void {
  if (!acceptedForms(headerOf(headers, 'accept')).sse) {
    throw new GatewayError('ACCEPT_REFUSED', { detail: `${what} needs text/event-stream.` });
  }
}
