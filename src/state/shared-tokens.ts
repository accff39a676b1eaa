import { createHash } from 'node:crypto';
import type { Log } from '../base/log.ts';
import type { Sealer } from '../base/sealed.ts';
import type { UpstreamSettings } from '../config/settings.ts';
import type { SharedTokens } from '../upstream/token-cache.ts';
import type { State } from './state.ts';

const PURPOSE = 'upstream-token';

/**
 * Tokens of one upstream in the shared state: sealed, under names that say nothing of whom they are for, and each to be
 * opened under its own name only. Another credential in the configuration makes other names.
 */
export function sharedTokens(
  upstream: UpstreamSettings,
  { state, sealer, log }: { readonly state: State; readonly sealer: Sealer; readonly log: Log },
): SharedTokens | undefined {
  if (!state.shared || upstream.kind !== 'http') {
    return undefined;
  }
  const { id, url, credentials } = upstream;
  const nameOf = (key: string) =>
    `token:${createHash('sha256')
      .update(JSON.stringify([id, url, credentials, key]))
      .digest('base64url')}`;
  const failed = (thrown: unknown) =>
    log.debug({ err: thrown, upstream: id }, 'a token was not shared with the other replicas');
  return {
    async get(key) {
      const name = nameOf(key);
      try {
        const { of, text, gotAt, endsAt } = sealer.open(PURPOSE, (await state.get(name)) ?? '') ?? {};
        const whole = typeof text === 'string' && typeof gotAt === 'number' && typeof endsAt === 'number';
        return whole && of === name ? { text, gotAt, endsAt } : undefined;
      } catch (thrown) {
        failed(thrown);
        return undefined;
      }
    },
    put(key, { text, gotAt, endsAt }) {
      const name = nameOf(key);
      const sealed = sealer.seal(PURPOSE, { of: name, text, gotAt, endsAt });
      state.put(name, sealed, endsAt - Date.now()).catch(failed);
    },
    forget(key, { text }) {
      const name = nameOf(key);
      const drop = async () => {
        const sealed = await state.get(name);
        if (sealed !== undefined && sealer.open(PURPOSE, sealed)?.['text'] === text) {
          await state.drop(name, sealed);
        }
      };
      drop().catch(failed);
    },
  };
}
