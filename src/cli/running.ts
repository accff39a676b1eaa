import { stringAt } from '../base/json.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';

/** Where a gateway runs, and what to show it. */
export interface RunningOptions {
  readonly url: string;
  /** Name of the variable that holds the token or key of an operator. */
  readonly tokenEnv?: string;
}

/** Why there is no answer, in words. `usage`: nobody was asked, since it cannot be asked so. */
export interface Untold {
  readonly wrong: string;
  readonly usage?: boolean;
}

/** What a running gateway said, or why there is no answer. */
type Told = { readonly value: unknown } | Untold;

/** The exit code of a command that needed the answer. */
export function codeOf({ usage = false }: Untold): ExitCode {
  return usage ? EXIT.usage : EXIT.failed;
}

/** Largest answer that is read: definitions of thousands of tools. */
const MOST_BYTES = 256 * 1024 * 1024;
const LONGEST_MS = 30_000;

/** Asks a running gateway for something of its `/api`, as an operator. Follows no redirect: the token is meant for it alone. */
export async function askRunning(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { url, tokenEnv }: RunningOptions,
  { env }: Pick<Io, 'env'>,
): Promise<Told> {
  const base = baseOf(url);
  if (base === undefined) {
    return { wrong: `${JSON.stringify(url)} is not an http or https URL`, usage: true };
  }
  const token = tokenEnv === undefined ? undefined : env[tokenEnv];
  if (tokenEnv !== undefined && (token === undefined || token === '')) {
    return { wrong: `the variable ${tokenEnv} is not set`, usage: true };
  }
  const target = new URL(`api/${path}`, base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) {
      target.searchParams.set(name, value);
    }
  }
  const headers = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  try {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const response = await fetch(target, { headers, redirect: 'manual', signal });
    const value = parsed(await textOf(response));
    return response.status === 200 && value !== undefined
      ? { value }
      : { wrong: refusal(response.status, value, tokenEnv) };
  } catch (thrown) {
    return { wrong: `the gateway at ${base.origin} cannot be reached (${reasonOf(thrown)})` };
  }
}

/** Of `http://host/mcp` as of `http://host`: people have the URL of the endpoint at hand. */
function baseOf(url: string): URL | undefined {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return undefined;
  }
  const base = new URL(url);
  base.pathname = `${base.pathname.replace(/\/+$/, '').replace(/\/mcp$/, '')}/`;
  base.search = '';
  base.hash = '';
  return base;
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) {
      throw new Error('the answer is too large');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some other server answers there with a page: it is told by its status.
    return undefined;
  }
}

function refusal(status: number, value: unknown, tokenEnv: string | undefined): string {
  const says = stringAt((value as { error?: unknown } | undefined)?.error, 'message');
  const how =
    status === 401 && tokenEnv === undefined
      ? ' Name the variable that holds the token of an operator with --token-env.'
      : '';
  return says === undefined
    ? `what answers there is no gateway that can be asked this (status ${status})`
    : `the gateway refuses (${status}): ${says}${how}`;
}

function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (!(cause instanceof Error)) {
    return 'unknown reason';
  }
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
