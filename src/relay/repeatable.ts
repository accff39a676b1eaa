import type { JsonObject } from '../base/json.ts';
import type { UpstreamSettings } from '../config/settings.ts';

/**
 * Whether a call whose connection was lost may be made again though it may have taken effect: only where the
 * configuration says so, and the tool changes nothing or changes nothing more the second time, by the configuration's own
 * word or by that of a server that is trusted. `hints`: the annotations of the tool as it is listed.
 */
export function mayRepeat(
  { retry, tools, trust }: Pick<UpstreamSettings, 'retry' | 'tools' | 'trust'>,
  name: string,
  hints: JsonObject | undefined,
): boolean {
  const given = Object.hasOwn(tools.annotate, name) ? tools.annotate[name] : undefined;
  const says = (word: 'readOnly' | 'idempotent') =>
    given?.[word] ?? (trust.annotations && hints?.[`${word}Hint`] === true);
  return retry === 'safe' && (says('readOnly') || says('idempotent'));
}
