import type { Gateway } from '../gateway.ts';
import type { UpstreamState } from '../observe/status.ts';
import { declares } from '../protocol/capabilities.ts';
import { KIND_FACTS, KINDS } from '../protocol/model.ts';

/** An upstream that does not serve, or does not serve all that it declares. */
export interface Trouble {
  readonly upstream: string;
  readonly state: UpstreamState;
  /** Not needed, by configuration. */
  readonly optional: boolean;
  readonly why: string;
}

/**
 * What is wrong with the upstreams right now, in config order. One that is switched off by hand is not wrong, and neither
 * is one that waits for users to sign in to it.
 */
export function troublesOf(gateway: Gateway): readonly Trouble[] {
  return Object.entries(gateway.readiness().upstreams).flatMap(([upstream, { state, lastError }]) => {
    if (state === 'ready' || state === 'idle' || (state === 'off' && lastError === undefined)) {
      return [];
    }
    const { optional } = gateway.fleet.settings(upstream);
    return [{ upstream, state, optional, why: lastError ?? whyUnread(gateway, upstream) }];
  });
}

function whyUnread({ fleet, store }: Gateway, upstream: string): string {
  const part = store.current.parts.get(upstream);
  const declared = fleet.capabilities(upstream);
  if (part === undefined || declared === undefined) {
    return 'It did not answer in time; "timeouts" of this upstream can be raised.';
  }
  const unread = KINDS.filter(
    (kind) => part.lists[kind] === undefined && declares(declared, KIND_FACTS[kind].capability),
  );
  return `It is connected, but its ${unread.join(', ')} could not be read; the log says why.`;
}

/** One line of text for a person. */
export function troubleLine({ upstream, state, optional, why }: Trouble): string {
  return `${upstream} is ${state === 'off' ? 'off' : `not ready (${state})`}${optional ? ', but optional' : ''}: ${why}`;
}
