import type { JsonObject } from '../base/json.ts';
import type { LongText } from '../base/long-text.ts';
import { credentialsIn, encoded, maskedCredentials } from './credentials-found.ts';
import { detailsIn } from './error-details.ts';
import { mapTexts } from './result-texts.ts';

/** Where credentials are only flagged: bytes of one result that are looked at. To mask them, all are. */
const MOST_FLAGGED = 64 * 1024;

/** Nothing shorter is a credential: `amqp://:1234@`. */
const SHORTEST = 13;

/** Which kinds of credentials the texts of a value hold, and the value, without them where `masks`. */
export function lookForCredentials(
  result: JsonObject,
  masks: boolean,
): { readonly seen: ReadonlySet<string>; readonly masked: JsonObject } {
  const seen = new Set<string>();
  let left = masks ? Number.POSITIVE_INFINITY : MOST_FLAGGED;
  const look = (text: Buffer) => {
    const found = left > 0 ? credentialsIn(text.length > left ? text.subarray(0, left) : text) : [];
    left -= text.length;
    for (const { name } of found) {
      seen.add(name);
    }
    return found;
  };
  const change = (text: string) => {
    if (left <= 0 || text.length < SHORTEST) {
      return text;
    }
    const bytes = encoded(text);
    const found = look(bytes);
    return masks && found.length > 0 ? maskedCredentials(bytes, found) : text;
  };
  // Credentials are ASCII, and stand in JSON as they are: what nobody else reads need not be decoded for this.
  const unread = (text: LongText) => {
    look(text.start(left));
    return undefined;
  };
  return { seen, masked: mapTexts(result, { change, unread }) as JsonObject };
}

/** Which details of its server the texts of an error give away, unless they are in what was `sent`. */
export function lookForDetails(
  result: JsonObject,
  sent: unknown,
  trims: boolean,
): { readonly found: ReadonlySet<string>; readonly trimmed: JsonObject } {
  const found = new Set<string>();
  const known = JSON.stringify(sent) ?? '';
  const change = (text: string) => {
    const details = detailsIn(text, known);
    for (const each of details.found) {
      found.add(each);
    }
    return trims ? details.trimmed : text;
  };
  return { found, trimmed: mapTexts(result, { change }) as JsonObject };
}
