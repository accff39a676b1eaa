import type { EndSignal } from '../base/ender.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { RpcId, RpcResponse } from '../protocol/json-rpc.ts';
import type { Peers } from '../state/peers.ts';
import type { State } from '../state/state.ts';
import type { Talk } from '../state/talk.ts';
import type { Question } from '../upstream/call.ts';
import { tellAside } from './aside.ts';
import { cancel } from './calls.ts';
import { carry, DistantCarrier } from './carrier.ts';
import type { Afar, DistantStream, Live } from './live.ts';
import type { Sessions } from './sessions.ts';

const ANSWER = 'session-answer';
const ASK = 'session-ask';
const TELL = 'session-tell';
const STREAM = 'session-stream';
const CANCEL = 'session-cancel';
const NOTIFY = 'session-notify';
const LEVEL = 'session-level';

/** For how long it is remembered where a session has its stream, and its log level, without a word of it, in ms. */
const REMEMBERED_MS = 86_400_000;

export interface SessionLinksOptions {
  readonly peers: Peers;
  readonly state: State;
  readonly sessions: () => Pick<Sessions, 'liveOf'>;
  /** A notification to the servers that this process has connected for a session. */
  readonly notify: (sid: string, method: string, params: JsonObject | undefined) => Promise<void>;
  /** A question of a server outside of any call, to whoever is asked for this session here. */
  readonly askCaller: (caller: NonNullable<Live['caller']>, question: Question) => Promise<JsonObject>;
  readonly log: Log;
}

/**
 * What of a legacy session is at another replica: the requests of one session come to any of them, and its streams,
 * questions and calls are where they were begun. Ids that the client sends back name the replica; where its own stream is,
 * the shared state says. Each side looks whose session it is: the one that asks has opened its sealed id, and the one that
 * is asked compares the principal with the one that opened it there.
 */
export class SessionLinks {
  readonly #options: SessionLinksOptions;

  constructor(options: SessionLinksOptions) {
    this.#options = options;
    const { peers, log } = options;
    peers.serve(ANSWER, async ({ sid, principal, response }) => {
      const live = this.#liveOf(sid, principal);
      // Only what waits here is taken: it must not be sent on.
      const { id } = isObject(response) ? response : {};
      live?.questions.get(id)?.answer(response as unknown as RpcResponse);
      return {};
    });
    peers.serve(ASK, async (asked, talk) => this.#serveAsk(asked, talk));
    peers.serve(TELL, async ({ sid, principal, json }) => {
      const live = this.#liveOf(sid, principal);
      return { heard: live !== undefined && tellAside({ live }, String(json)) };
    });
    peers.serve(STREAM, async (asked, talk) => this.#serveStream(asked, talk));
    peers.onTold(CANCEL, ({ sid, principal, id }) => {
      const live = this.#liveOf(sid, principal);
      if (live !== undefined) {
        cancel(live.calls, id);
      }
    });
    peers.onTold(NOTIFY, ({ sid, method, params }) => {
      options
        .notify(String(sid), String(method), isObject(params) ? params : undefined)
        .catch((thrown: unknown) => log.debug({ err: thrown }, 'a notification reached not every server'));
    });
    peers.onTold(LEVEL, ({ sid, principal, level }) => {
      const live = this.#liveOf(sid, principal);
      if (live !== undefined) {
        live.logLevel = String(level);
      }
    });
  }

  /** Of one session of this principal. */
  afar(sid: string, principal: string): Afar {
    const { peers, state } = this.#options;
    const whose = { sid, principal };
    const streamKey = `stream:${sid}`;
    const levelKey = `level:${sid}`;
    const listener = () => this.#known(state.get(streamKey));
    return {
      home: peers.name,
      answer: (response) => {
        const [home] = typeof response.id === 'string' ? response.id.split('.') : [];
        if (peers.isOther(home)) {
          this.#unanswered(peers.ask(home, ANSWER, { ...whose, response }).answer);
        }
      },
      cancel: (id: RpcId) => peers.tell(CANCEL, { ...whose, id }),
      notify: (method, params) => peers.tell(NOTIFY, { sid, method, params }),
      ask: ({ method, params, signal }) => this.#askAt(listener(), { ...whose, method, params }, signal),
      tell: (json) => this.#unanswered(this.#tellAt(listener(), { ...whose, json })),
      isElsewhere: (home) => peers.isOther(home),
      stream: (home, lastEvent) => this.#stream(home, { ...whose, lastEvent }),
      listens: async () => (await listener()) !== undefined,
      heardHere: (here) =>
        this.#unanswered(
          here ? state.put(streamKey, peers.name, REMEMBERED_MS) : state.drop(streamKey, peers.name),
        ),
      level: (level) => {
        peers.tell(LEVEL, { ...whose, level });
        this.#unanswered(state.put(levelKey, level, REMEMBERED_MS));
      },
      levelThere: () => this.#known(state.get(levelKey)),
    };
  }

  /** Asks the client of a session outside of any call, wherever it has its stream. */
  askAside(sid: string, principal: string, question: Question): Promise<JsonObject> {
    const live = this.#liveOf(sid, principal);
    return live?.caller === undefined
      ? this.afar(sid, principal).ask(question)
      : this.#options.askCaller(live.caller, question);
  }

  #liveOf(sid: unknown, principal: unknown): Live | undefined {
    return this.#options.sessions().liveOf(sid, principal);
  }

  async #askAt(
    listener: Promise<string | undefined>,
    asked: JsonObject,
    signal: EndSignal,
  ): Promise<JsonObject> {
    const home = await listener;
    if (!this.#options.peers.isOther(home)) {
      throw new GatewayError('CANCELLED');
    }
    return this.#options.peers.ask(home, ASK, asked, { signal }).answer;
  }

  async #tellAt(listener: Promise<string | undefined>, asked: JsonObject): Promise<void> {
    const home = await listener;
    if (this.#options.peers.isOther(home)) {
      await this.#options.peers.ask(home, TELL, asked).answer;
    }
  }

  /** Whoever is asked here is judged here as well: by what the session declared. */
  #serveAsk({ sid, principal, method, params }: JsonObject, { signal }: Talk): Promise<JsonObject> {
    const caller = this.#liveOf(sid, principal)?.caller;
    if (caller === undefined) {
      throw new GatewayError('CANCELLED');
    }
    const question = { method: String(method), params: isObject(params) ? params : undefined, signal };
    return this.#options.askCaller(caller, question);
  }

  async #stream(home: string, asked: JsonObject): Promise<DistantStream> {
    const unheard: JsonObject[] = [];
    let hear = (message: JsonObject): void => void unheard.push(message);
    const talk = this.#options.peers.ask(home, STREAM, asked, { heard: (message) => hear(message) });
    const first = await new Promise<JsonObject>((resolve) => {
      const begins = hear;
      hear = (message) => {
        hear = begins;
        resolve(message);
      };
      talk.answer.then(resolve, () => resolve({ state: 'unknown' }));
    });
    const state = stringAt(first, 'state');
    if (state !== 'open') {
      return { state: state === 'over' ? 'over' : 'unknown' };
    }
    return {
      state,
      begin: (connection) => {
        for (const message of unheard.splice(0)) {
          carry(connection, message);
        }
        hear = (message) => carry(connection, message);
        const end = () => connection.end();
        talk.answer.then(end, end);
      },
      leave: () => talk.hangUp(new GatewayError('CANCELLED')),
    };
  }

  async #serveStream({ sid, principal, lastEvent }: JsonObject, talk: Talk): Promise<JsonObject> {
    const live = this.#liveOf(sid, principal);
    const found = live?.replays?.find(String(lastEvent));
    if (live === undefined || found === undefined) {
      return { state: 'unknown' };
    }
    if (found.stream.overAfter(found.number)) {
      return { state: 'over' };
    }
    const carrier = new DistantCarrier(talk);
    talk.say({ state: 'open' });
    found.stream.resume(carrier, found.number);
    await carrier.over;
    live.lastSeen = Date.now();
    return { state: 'over' };
  }

  /** What cannot be known is not. */
  async #known<T>(answer: Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (thrown) {
      this.#options.log.debug({ err: thrown }, 'what other replicas know of a session cannot be told');
      return undefined;
    }
  }

  /** At most once, and nobody waits for it. */
  #unanswered(sent: Promise<unknown>): void {
    sent.catch((thrown: unknown) =>
      this.#options.log.debug({ err: thrown }, 'something about a session was not told to another replica'),
    );
  }
}
