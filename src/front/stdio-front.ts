import type { Readable, Writable } from 'node:stream';
import { MCP } from '../access/resource.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { asLine } from '../base/json.ts';
import { createLineReader, type LineSink } from '../base/line-reader.ts';
import { pause } from '../base/time.ts';
import { isRpcId, type RpcId } from '../protocol/json-rpc.ts';
import { Backlog } from './backlog.ts';
import type { FrontOptions } from './front.ts';
import { parseJson } from './inbound.ts';
import type { Outlet } from './outlet.ts';
import { Peer } from './peer.ts';
import type { Standing } from './regime.ts';

/** The one client, as the process was told to serve it. */
export interface StdioClient {
  readonly input: Readable;
  readonly output: Writable;
  /** Name of the one upstream or view to serve; absent: `default`. */
  readonly upstream?: string;
  readonly names?: 'dotted' | 'strict';
  /** Key or token that it signs in with. */
  readonly token?: string;
}

interface StdioOptions extends Pick<StdioClient, 'input' | 'output'> {
  readonly front: FrontOptions;
  readonly standing: Standing;
}

/** One client over a pair of streams, in both eras (spec 2026-07-28: transports/stdio). */
export interface StdioFront {
  /** Resolves when the client has closed its end, reads no more, or may ask no more. */
  readonly ended: Promise<void>;
  /**
   * Waits until everything that was asked for is answered, at most `graceMs` and no longer than until `hurry` aborts;
   * then ends the rest and reads no more.
   */
  close(graceMs: number, hurry: AbortSignal): Promise<void>;
}

/** Rejects with whatever sign-in refuses, and with ENDPOINT_UNKNOWN for a name that nothing has for this client. */
export async function openStdioFront(front: FrontOptions, client: StdioClient): Promise<StdioFront> {
  const { upstream, names, token, ...pipes } = client;
  const headers = token === undefined ? {} : { authorization: [`Bearer ${token}`] };
  const regime = front.regime();
  const principal = await regime.authenticate(headers, { ...MCP, name: upstream });
  const standing = regime.admit(principal, { name: upstream, names }, front.log);
  return createStdioFront({ front, standing, ...pipes });
}

function createStdioFront(options: StdioOptions): StdioFront {
  const { front, standing, input, output } = options;
  const { log } = front;
  const { streams, limits } = front.regime().settings;
  const over = new AbortController();
  const ended = new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()));
  const outlet = new Pipe(output, streams.bufferBytes, {
    lost: (why) => {
      log.debug(why, 'the client reads no more');
      over.abort();
    },
    // Who does not read its answers is not asked for more questions.
    full: () => input.pause(),
    caughtUp: () => input.resume(),
  });
  const peer = new Peer({ front, standing, outlet, modern: true });
  const { maxBodyBytes } = limits;
  const reader = createLineReader(maxBodyBytes, sinkFor(peer, maxBodyBytes));
  input.on('data', (chunk: Buffer) => reader.push(chunk));
  input.on('error', (error) => log.debug({ err: error }, 'the input broke'));
  input.on('end', () => {
    reader.end();
    over.abort();
  });
  input.on('close', () => over.abort());
  const go = front.streams.stay(() => {
    log.warn('the token has ended that this was started with, or is not let in any more');
    over.abort();
  }, standing);
  return {
    ended,
    async close(graceMs, hurry) {
      go();
      if (outlet.connected) {
        await Promise.race([peer.drained(), pause(graceMs, hurry)]);
      }
      peer.close();
      outlet.end();
      input.destroy();
    },
  };
}

function sinkFor(peer: Peer, mostBytes: number): LineSink {
  return {
    line: (text) => {
      try {
        void peer.take(parseJson(text, mostBytes));
      } catch (thrown) {
        peer.refuse(toGatewayError(thrown), undefined);
      }
    },
    // Answered when the line has ended: its id may stand there.
    overflow: () => {},
    skipped: (head, tail) => peer.refuse(new GatewayError('BODY_TOO_LARGE'), requestId(`${head}`, `${tail}`)),
  };
}

interface PipeEvents {
  /** Nobody reads any more, or too slowly. */
  lost(why: object): void;
  /** The reader has to catch up first. */
  full(): void;
  /** The reader has read all there was. */
  caughtUp(): void;
}

/** Messages as lines. */
class Pipe implements Outlet {
  readonly #backlog: Backlog;
  readonly #events: PipeEvents;
  #open = true;

  constructor(output: Writable, bufferBytes: number, events: PipeEvents) {
    this.#events = events;
    const close = (why: object) => {
      this.#open = false;
      this.#backlog.drop();
      events.lost(why);
    };
    this.#backlog = new Backlog(output, bufferBytes, (waiting) => close({ waiting }));
    output.on('drain', () => {
      if (this.#backlog.caughtUp) {
        events.caughtUp();
      }
    });
    output.on('error', (error) => close({ err: error }));
    output.on('close', () => close({}));
  }

  get connected(): boolean {
    return this.#open;
  }

  send(json: string): boolean {
    if (this.#open) {
      this.#backlog.write(asLine(json));
      if (!this.#backlog.caughtUp) {
        this.#events.full();
      }
    }
    return this.#open;
  }

  end(): void {
    if (this.#open) {
      this.#open = false;
      this.#backlog.flush();
    }
  }
}

const VALUE = String.raw`(0|-?[1-9]\d{0,15}|"[^"\\\x00-\x1f]{0,256}")`;
const FIRST_ID = new RegExp(
  String.raw`^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*${VALUE}\s*,`,
);
const LAST_ID = new RegExp(String.raw`,\s*"id"\s*:\s*${VALUE}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/**
 * The id of a request of which only the two ends are at hand: clients write it before `params`, or last. The brace that
 * ends the text closes the outermost object, so a member right before it belongs to that one.
 */
function requestId(head: string, tail: string): RpcId | undefined {
  const literal = FIRST_ID.exec(head)?.[1] ?? LAST_ID.exec(tail)?.[1];
  const id: unknown = literal === undefined ? undefined : JSON.parse(literal);
  return isRpcId(id) ? id : undefined;
}
