import { Agent as HttpAgent } from 'node:http';
import { isObject, type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import { META, metaOf } from '../../src/protocol/meta.ts';
import { type Answer, type Exchange, exchange } from '../kit/http-exchange.ts';
import { modernVersion, type Send, type Step } from './recording.ts';
import type { Listing } from './world.ts';

/** Where a recording is played: one gateway, and what happens around it. */
export interface Stage {
  readonly origin: string;
  readonly listing: Listing;
  /** Items on one page; undefined: everything is on one. */
  readonly pageSize?: number;
  grow(): Promise<void>;
  restart(): Promise<void>;
}

/** One request of the client and what came of it. */
export interface Turn {
  readonly send: Send;
  /** Its body as sent: with the cursor that this server gave. */
  readonly body: JsonObject | undefined;
  readonly exchange: Exchange;
  /** Protocol version that its answer must keep to; undefined where the request is of none. */
  readonly version: string | undefined;
  /** What the server lists while it is asked. */
  readonly listing: Listing;
  readonly pageSize: number | undefined;
  /** The whole answer; undefined while it is still under way. */
  answer: Answer | undefined;
  /** Notices of change that it had heard before the server grew; undefined where it was not open then. */
  heardBefore: number | undefined;
  /** The server went away while this stream was open. */
  cut: boolean;
  /** It was sent while a server that had just started may still have been reading its first lists. */
  readonly early: boolean;
}

export interface ReplayOptions {
  /** How the name of a header is written in place of the client's own spelling. */
  readonly spell?: (name: string) => string;
}

const STREAMS = new Set(['listening', 'streaming']);
const TOOLS_CHANGED = 'notifications/tools/list_changed';

/**
 * Plays what one client sent, in its order and with its pauses: a request waits for what went before unless the client
 * did not. Session ids and cursors are those of our own answers. Rejects where a request got no answer at all.
 */
export async function replay(
  steps: readonly Step[],
  stage: Stage,
  options: ReplayOptions = {},
): Promise<readonly Turn[]> {
  const player = new Player(stage, options);
  try {
    for (const step of steps) {
      await player.play(step);
    }
    await player.quiet();
    return player.turns;
  } finally {
    await player.leave();
  }
}

class Player {
  readonly turns: Turn[] = [];
  readonly #stage: Stage;
  readonly #spell: (name: string) => string;
  readonly #sessions = new Map<number, { readonly id: string; readonly version: string }>();
  readonly #cursors = new Map<unknown, string>();
  #pool = new HttpAgent({ keepAlive: true });
  #running: Turn[] = [];
  #early = false;

  constructor(stage: Stage, { spell = (name) => name }: ReplayOptions) {
    this.#stage = stage;
    this.#spell = spell;
  }

  async play(step: Step): Promise<void> {
    const free = step.kind === 'send' && step.together && this.#knows(step.session);
    if (!free) {
      await this.quiet();
    }
    switch (step.kind) {
      case 'send':
        return this.#send(step);
      case 'close':
        return this.#close(step.n);
      case 'grow':
        return this.#grow();
      case 'restart':
        return this.#restart();
    }
  }

  /** Waits until everything that was asked is answered, and every stream is open. */
  async quiet(): Promise<void> {
    const running = this.#running;
    this.#running = [];
    for (const turn of running) {
      const { status } = await turn.exchange.opened;
      if (!STREAMS.has(turn.send.expects) || status !== 200) {
        turn.answer = await turn.exchange.done;
        this.#learn(turn);
      } else if (turn.send.expects === 'listening') {
        // Nothing else may come before it, so a client waits for it.
        await turn.exchange.next('notifications/subscriptions/acknowledged');
      }
    }
  }

  /** The client is gone, its streams with it. */
  async leave(): Promise<void> {
    for (const turn of this.turns.filter(({ answer }) => answer === undefined)) {
      turn.exchange.abort();
      turn.answer = await turn.exchange.done.catch(() => undefined);
    }
    this.#pool.destroy();
  }

  #knows(session: number | undefined): boolean {
    return session === undefined || this.#sessions.has(session);
  }

  #send(send: Send): void {
    const session = send.session === undefined ? undefined : this.#sessions.get(send.session);
    const body = this.#withCursor(send.body);
    const headers = Object.entries(send.headers).map(([name, value]) => [
      this.#spell(name),
      value === '<session>' ? (session?.id ?? '') : value,
    ]);
    const id = body?.['method'] === undefined ? undefined : body['id'];
    const running = exchange(new URL(send.path, this.#stage.origin), {
      method: send.method,
      headers: Object.fromEntries(headers),
      agent: this.#pool,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}),
    });
    const asked = send.expects === 'opened' ? stringAt(send.body?.['params'], 'protocolVersion') : undefined;
    const turn: Turn = {
      send,
      body,
      exchange: running,
      version: modernVersion(send) ?? asked ?? session?.version,
      listing: this.#stage.listing,
      pageSize: this.#stage.pageSize,
      answer: undefined,
      heardBefore: undefined,
      cut: false,
      early: this.#early,
    };
    this.turns.push(turn);
    this.#running.push(turn);
  }

  #withCursor(body: JsonObject | undefined): JsonObject | undefined {
    const params = objectAt(body, 'params');
    if (body === undefined || params?.['cursor'] === undefined) {
      return body;
    }
    return { ...body, params: { ...params, cursor: this.#cursors.get(body['method']) ?? 'none was given' } };
  }

  #learn({ send, answer }: Turn): void {
    const id = answer?.headers['mcp-session-id'];
    if (send.opens !== undefined && id !== undefined) {
      this.#sessions.set(send.opens, { id, version: stringAt(answer?.result, 'protocolVersion') ?? '' });
    }
    if (send.expects === 'listed') {
      const cursor = stringAt(answer?.result, 'nextCursor');
      if (cursor === undefined) {
        this.#cursors.delete(send.body?.['method']);
      } else {
        this.#cursors.set(send.body?.['method'], cursor);
      }
    }
  }

  async #close(n: number): Promise<void> {
    const turn = this.turns.find(({ send }) => send.n === n);
    if (turn !== undefined && turn.answer === undefined) {
      turn.exchange.abort();
      turn.answer = await turn.exchange.done;
    }
  }

  /** Whoever listens is told: a legacy session on its newest stream, whichever others it has. */
  async #grow(): Promise<void> {
    const listeners = this.#listeners();
    for (const turn of listeners) {
      turn.heardBefore = heard(turn);
    }
    await this.#stage.grow();
    for (const turn of listeners) {
      while (heard(turn) === turn.heardBefore) {
        await turn.exchange.next();
      }
    }
  }

  #listeners(): readonly Turn[] {
    const newest = new Map<unknown, Turn>();
    for (const turn of this.turns.filter((each) => isOpen(each))) {
      newest.set(turn.send.session ?? turn, turn);
    }
    return [...newest.values()];
  }

  async #restart(): Promise<void> {
    await this.#stage.restart();
    this.#early = true;
    for (const turn of this.turns.filter((each) => isOpen(each))) {
      turn.cut = true;
      turn.answer = await turn.exchange.done;
    }
    this.#pool.destroy();
    this.#pool = new HttpAgent({ keepAlive: true });
  }
}

function isOpen({ send, answer }: Turn): boolean {
  return STREAMS.has(send.expects) && answer === undefined;
}

/** How often a stream heard that the tools changed. */
export function heard(turn: Turn): number {
  return turn.exchange.count(TOOLS_CHANGED);
}

/** The messages of a turn that answer its request: with its id, or none. */
export function responses(turn: Turn): readonly JsonObject[] {
  return turn.exchange.messages.filter((message) => !('method' in message));
}

export function progressToken(turn: Turn): unknown {
  const params = turn.body?.['params'];
  return isObject(params) ? metaOf(params)[META.progressToken] : undefined;
}
