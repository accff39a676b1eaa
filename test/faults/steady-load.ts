import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, RpcError } from '../kit/agent.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { createWaits } from '../kit/waits.ts';

type Era = 'legacy' | 'modern';

/** Longest that any request may take, ms: everything has a deadline, and those of the tests are far below. */
const ANSWER_MS = 15_000;

/** ms between the calls of one caller: what is tested is what becomes of them, not how many there can be. */
const CADENCE = 10;

interface Tally {
  right: number;
  failed: number;
}

/**
 * Clients of both eras that never stop calling. An answer is right when it is the echo of its own call, and failed when
 * it is a clear error: a result that names the server, or a JSON-RPC error of the gateway's table or of the server.
 * Anything else is `wrong`, and so is a request that is never answered.
 */
export class SteadyLoad implements AsyncDisposable {
  readonly wrong: string[] = [];
  readonly #tallies = new Map<string, Tally>();
  readonly #waits = createWaits();
  readonly #agents: Agent[] = [];
  readonly #running: Promise<void>[] = [];
  #stopping = false;
  #sent = 0;

  /** `callers` of each era, that go round these upstreams, each with a tool `echo`. */
  static async start(url: string, upstreams: readonly string[], callers = 3): Promise<SteadyLoad> {
    const load = new SteadyLoad();
    for (const era of ['legacy', 'modern'] as const) {
      for (const upstream of upstreams) {
        load.#tallies.set(`${era} ${upstream}`, { right: 0, failed: 0 });
      }
      const agent = await (era === 'legacy' ? connectLegacy(url) : connectModern(url));
      load.#agents.push(agent);
      for (let at = 0; at < callers; at += 1) {
        load.#running.push(load.#callForEver(agent, era, upstreams, at));
      }
    }
    return load;
  }

  /** Nobody calls any more. */
  get isOver(): boolean {
    return this.#stopping;
  }

  /** Answers so far of both eras. */
  count(upstream: string): Tally {
    const [legacy, modern] = this.#of(upstream);
    return { right: legacy.right + modern.right, failed: legacy.failed + modern.failed };
  }

  /** Resolves when each era has got so many more right answers of this upstream. */
  async untilRight(upstream: string, more = 2): Promise<void> {
    const goals = this.#of(upstream).map((tally) => ({ tally, goal: tally.right + more }));
    await this.#waits.until(
      () => (goals.every(({ tally, goal }) => tally.right >= goal) ? true : undefined),
      () => `no right answers of ${upstream}: ${JSON.stringify(Object.fromEntries(this.#tallies))}`,
    );
  }

  /** Resolves when so many more calls of this upstream have failed, whosever. */
  async untilFailed(upstream: string, more = 1): Promise<void> {
    const goal = this.count(upstream).failed + more;
    await this.#waits.until(
      () => (this.count(upstream).failed >= goal ? true : undefined),
      () => `no call of ${upstream} has failed`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#running);
    await Promise.all(this.#agents.map((agent) => agent[Symbol.asyncDispose]()));
  }

  #of(upstream: string): readonly [Tally, Tally] {
    return [this.#tally('legacy', upstream), this.#tally('modern', upstream)];
  }

  #tally(era: Era, upstream: string): Tally {
    const tally = this.#tallies.get(`${era} ${upstream}`);
    if (tally === undefined) {
      throw new Error(`${upstream} is not called`);
    }
    return tally;
  }

  async #callForEver(agent: Agent, era: Era, upstreams: readonly string[], from: number): Promise<void> {
    for (let at = from; !this.#stopping; at += 1) {
      const upstream = upstreams[at % upstreams.length] ?? '';
      this.#sent += 1;
      const outcome = await this.#call(agent, upstream, `${era} ${upstream} ${this.#sent}`);
      if (outcome === 'right' || outcome === 'failed') {
        this.#tally(era, upstream)[outcome] += 1;
      } else {
        this.wrong.push(`${era} ${upstream}: ${outcome}`);
      }
      this.#waits.check();
      await pause(CADENCE);
    }
  }

  async #call(agent: Agent, upstream: string, mark: string): Promise<string> {
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise<string>((resolve) => {
      late = setTimeout(() => resolve(`no answer within ${ANSWER_MS} ms`), ANSWER_MS);
    });
    const answer = agent.call(`${upstream}.echo`, { mark }).then(
      ({ result, structured, text }) => {
        if (structured['mark'] === mark) {
          return 'right';
        }
        return result['isError'] === true && text.startsWith(`[${upstream}] `)
          ? 'failed'
          : `not its answer: ${JSON.stringify(result).slice(0, 300)}`;
      },
      (thrown: unknown) =>
        thrown instanceof RpcError && thrown.message.length > 10
          ? 'failed'
          : `no answer at all: ${String(thrown)}`,
    );
    try {
      return await Promise.race([answer, patience]);
    } finally {
      clearTimeout(late);
    }
  }
}
