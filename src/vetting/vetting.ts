import type { Principal } from '../access/principal.ts';
import { after } from '../base/time.ts';
import type { UpstreamPart } from '../catalog/part.ts';
import type { Screen } from '../catalog/screen.ts';
import type { Catalog } from '../catalog/snapshot.ts';
import type { VettingFinding } from './finding.ts';
import { LintWatch, type LintWatchOptions } from './lint-watch.ts';
import type { LockState } from './lock.ts';
import { PinWatch, type PinWatchOptions } from './pin-watch.ts';
import { Quarantine, type QuarantineOptions } from './quarantine.ts';

export interface VettingOptions extends PinWatchOptions, LintWatchOptions, Pick<QuarantineOptions, 'isOwn'> {
  /** Whether what is found is looked for and logged as it comes; not where a command says it by itself. */
  readonly watches: boolean;
}

type Parts = ReadonlyMap<string, UpstreamPart>;

/** What a running gateway thinks of what the servers say of themselves: what is odd, and what is not approved. */
export class Vetting {
  /** Decides what is served at all. */
  readonly screen: Screen & Pick<Quarantine, 'instructions'>;
  readonly #pins: PinWatch;
  readonly #lint: LintWatch;
  readonly #watches: boolean;
  #parts: Parts = new Map();
  #cancel: (() => void) | undefined;

  constructor(options: VettingOptions) {
    this.#pins = new PinWatch(options);
    this.#lint = new LintWatch(options);
    this.#watches = options.watches;
    this.screen = new Quarantine({ ...options, lock: () => this.lock });
  }

  get lock(): LockState {
    return this.#pins.lock;
  }

  /**
   * Everything odd about these parts of the shared catalog: how they differ from what is approved, as of now, and what
   * their texts and schemas are like, as of the last look. In no order.
   */
  findings(parts: Parts): readonly VettingFinding[] {
    return [...this.#pins.findings(parts), ...this.#lint.findings(parts)];
  }

  /** Another lock file, and whatever else `change` brings, hold from here on. */
  renewed<T>(lock: LockState, change: () => T, parts: () => Parts): T {
    this.#pins.renew(lock);
    const changed = change();
    if (this.#watches) {
      this.#pins.review(parts());
      this.#lint.look(parts());
    }
    return changed;
  }

  /** One catalog is in the place of another: everybody's, or that of one user. Nothing is looked at before its own turn. */
  replaced(_before: Catalog, { parts }: Catalog, owner: Principal | undefined): void {
    if (!this.#watches) {
      return;
    }
    if (owner !== undefined) {
      this.#pins.reviewOwn(parts);
      return;
    }
    this.#parts = parts;
    this.#lint.look(parts);
    this.#cancel ??= after(0, () => {
      this.#cancel = undefined;
      this.#pins.review(this.#parts);
    });
  }

  close(): void {
    this.#cancel?.();
    this.#lint.close();
  }
}
