import type { FastifyBaseLogger } from 'fastify';

type Line = Parameters<FastifyBaseLogger['info']>;

/** The log of one request, with its id in each line. It is made for its first line, and most requests write none. */
export class RequestLog implements FastifyBaseLogger {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
  }

  get level(): string {
    return this.#log.level;
  }

  set level(level: string) {
    this.#log.level = level;
  }

  fatal(...line: unknown[]): void {
    this.#log.fatal(...(line as Line));
  }

  error(...line: unknown[]): void {
    this.#log.error(...(line as Line));
  }

  warn(...line: unknown[]): void {
    this.#log.warn(...(line as Line));
  }

  info(...line: unknown[]): void {
    this.#log.info(...(line as Line));
  }

  debug(...line: unknown[]): void {
    this.#log.debug(...(line as Line));
  }

  trace(...line: unknown[]): void {
    this.#log.trace(...(line as Line));
  }

  silent(...line: unknown[]): void {
    this.#log.silent(...(line as Line));
  }

  child(...given: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#log.child(...given);
  }

  get #log(): FastifyBaseLogger {
    this.#made ??= this.#make();
    return this.#made;
  }
}

/** Names for the requests of one server, as its log lines have them. */
export function requestIds(): () => string {
  let last = 0;
  return () => {
    last = (last + 1) % 2 ** 31;
    return `req-${last.toString(36)}`;
  };
}
