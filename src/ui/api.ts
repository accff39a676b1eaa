import { objectAt, stringAt } from '../base/json.ts';
import type { Overview } from '../observe/overview.ts';
import type { CatalogItem, CatalogReport } from '../relay/catalog-report.ts';
import type { AnyFinding, Explanation } from '../relay/explanation.ts';

export type Status = Overview<AnyFinding>;
export type { CatalogItem, Explanation };

/** A refusal, in the gateway's words. `status` 0: nobody answered. */
export class ApiError extends Error {
  readonly status: number;

  constructor(message: string, about: { readonly status: number; readonly cause?: unknown }) {
    super(message, about);
    this.status = about.status;
  }
}

/** Parameters; one that is '' or undefined is left out. */
type Query = Readonly<Record<string, string | undefined>>;

/** Most items of the catalog that are looked at, and at most so many in one answer. */
const MOST_ITEMS = 50_000;
const A_PAGE = 10_000;

/** The gateway that serves this page, asked with what somebody signed in with. */
export class Api {
  readonly #token: string | undefined;

  constructor(token: string | undefined) {
    this.#token = token;
  }

  /** One request to a path of this gateway. Throws an {@link ApiError} where nobody answers. */
  async send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) {
      headers.set('authorization', `Bearer ${this.#token}`);
    }
    try {
      // Nothing but the header signs anybody in, and nothing is kept.
      const how = {
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
      } as const;
      return await fetch(new URL(`../${path}`, location.href), { ...how, ...init, headers });
    } catch (thrown) {
      if (init.signal?.aborted === true) {
        throw thrown;
      }
      throw new ApiError('The gateway does not answer.', { status: 0, cause: thrown });
    }
  }

  async get<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
    const response = await this.send(
      `api/${path}?${new URLSearchParams(given)}`,
      signal === undefined ? {} : { signal },
    );
    if (!response.ok) {
      throw await refusalOf(response);
    }
    return (await response.json()) as T;
  }

  status(signal?: AbortSignal): Promise<Status> {
    return this.get('status', {}, signal);
  }

  explain(query: Query, signal: AbortSignal): Promise<Explanation> {
    return this.get('explain', query, signal);
  }

  /** All items, without their definitions. */
  async catalog(query: Query, signal: AbortSignal): Promise<readonly CatalogItem[]> {
    const items: CatalogItem[] = [];
    while (items.length < MOST_ITEMS) {
      const part = { ...query, definitions: 'false', from: String(items.length), limit: String(A_PAGE) };
      const page = await this.get<CatalogReport & { readonly items: readonly CatalogItem[] }>(
        'catalog',
        part,
        signal,
      );
      items.push(...page.items);
      if (page.items.length < A_PAGE) {
        break;
      }
    }
    return items;
  }
}

/** What an answer that is none says. */
export async function refusalOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const text = await response.text();
  let said: string | undefined;
  try {
    said = stringAt(objectAt(JSON.parse(text), 'error'), 'message');
  } catch (thrown) {
    return new ApiError(`The gateway answered with ${status}.`, { status, cause: thrown });
  }
  return new ApiError(said ?? `The gateway answered with ${status}.`, { status });
}

/** What no other item has. */
export function keyOf({ kind, upstream, original }: CatalogItem): string {
  return JSON.stringify([kind, upstream, original]);
}
