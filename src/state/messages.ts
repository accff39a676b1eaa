import { GatewayError } from '../base/errors.ts';
import { type JsonObject, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Sealer } from '../base/sealed.ts';
import { Freshness } from './freshness.ts';

const PURPOSE = 'replica';
/** Longest message between two replicas, in characters of JSON; a server in between holds them for slow readers. */
const LONGEST = 8 * 1024 * 1024;
/** What it may be sealed: base64, and something for what comes with it. */
const LONGEST_SEALED = Math.ceil((LONGEST * 4) / 3) + 1_024;

/** Why a message was not heard. */
const WHY = {
  forged: 'a message that no replica of this gateway has said was heard in the shared state',
  repeated: 'a message of another replica was heard again: somebody else writes to the shared state',
  stale:
    'a message was heard whose time is over: somebody has kept it, or clocks of replicas differ by more than 5 minutes',
} as const;

/** How many messages of the shared state were not heard, by the reason. */
export type Refused = Readonly<Record<keyof typeof WHY, number>>;

/** What replicas say to each other, sealed on its way; each is opened once, by whom it is for. */
export class Messages {
  readonly #name: string;
  readonly #sealer: Sealer;
  readonly #log: Log;
  readonly #freshness = new Freshness();
  readonly #refused = { forged: 0, repeated: 0, stale: 0 };

  /** `name`: of this replica. */
  constructor(name: string, sealer: Sealer, log: Log) {
    this.#name = name;
    this.#sealer = sealer;
    this.#log = log;
  }

  get refused(): Refused {
    return { ...this.#refused };
  }

  /** To be sent in the order in which they are sealed. Throws UPSTREAM_TOO_LARGE. */
  seal(to: string, message: JsonObject): string {
    const sealed = this.#sealer.seal(PURPOSE, {
      ...message,
      from: this.#name,
      to,
      ...this.#freshness.stamp(),
    });
    if (sealed.length > LONGEST_SEALED) {
      throw new GatewayError('UPSTREAM_TOO_LARGE', { logged: 'too large to be said to another replica' });
    }
    return sealed;
  }

  /** What another replica has said there; undefined for what this one has said itself, and for what counts as unsaid. */
  open(text: string, to: string): { readonly from: string; readonly message: JsonObject } | undefined {
    const message = this.#sealer.open(PURPOSE, text, LONGEST_SEALED);
    const from = stringAt(message, 'from');
    // Read back from where it was not said: somebody has put it there.
    if (message === undefined || from === undefined || message['to'] !== to) {
      return this.#refuse('forged');
    }
    if (from === this.#name) {
      return undefined;
    }
    const verdict = this.#freshness.judge(from, message);
    return verdict === 'fresh' ? { from, message } : this.#refuse(verdict);
  }

  /** In the log at its first, tenth, hundredth time and so on: whoever writes there must not fill the log. */
  #refuse(reason: keyof Refused): undefined {
    this.#refused[reason] += 1;
    const times = this.#refused[reason];
    if (/^10*$/.test(String(times))) {
      this.#log.warn({ times }, WHY[reason]);
    }
    return undefined;
  }
}
