/** Deepest path of which each part is looked at; a deeper one is nothing that people keep things under. */
const MOST_SLASHES = 256;

/**
 * The URIs that this one may be a part of (spec 2026-07-28: server/resources, sub-resources), itself first: what ends
 * at one of its slashes, with and without it. Undefined for one with more than 256 slashes: each is a look-up of its
 * own, and peers decide how many there are.
 */
export function wholesOf(uri: string): readonly string[] | undefined {
  const wholes = [uri];
  for (let end = uri.lastIndexOf('/'); end > 0; end = uri.lastIndexOf('/', end - 1)) {
    if (wholes.length > 2 * MOST_SLASHES) {
      return undefined;
    }
    wholes.push(uri.slice(0, end + 1), uri.slice(0, end));
  }
  return wholes;
}
