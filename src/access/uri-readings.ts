/** Another way in which a server may read a URI. */
export interface Reading {
  readonly uri: string;
  /** Dot segments were resolved: it is about another path. Otherwise only the spelling differs. */
  readonly elsewhere: boolean;
}

const HIERARCHICAL = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^?#]*)(.*)$/s;
const WITHOUT_AUTHORITY = /^([A-Za-z][A-Za-z0-9+.-]*):([^?#]*)(.*)$/s;
/** Nothing in it that could be read otherwise: no escape, backslash, empty or dot segment, no capital in scheme or host. */
const PLAIN =
  /^(?!file:\/\/localhost)[a-z][a-z0-9+.-]*:\/\/[^/%\\A-Z]*(?:\/(?!\/|\.{1,2}(?:\/|$))[^/%\\]*)*$/;
/** What the parser of browsers and of Node leaves out before it reads (URL Standard, 4.4). */
const UNREAD = /[\t\n\r]/g;
/** Schemes that have an authority there, however many slashes come after them; a file has an empty one with fewer than two. */
const SLASHES = /^(file|https?|wss?|ftp):([/\\]*)/i;
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?=\/|$)/;

/**
 * How else a server may read this URI, the spelling as it stands excepted: escapes of plain signs decoded, scheme and
 * host in small letters, escaped and doubled slashes as slashes, dot segments resolved (RFC 3986, 6.2.2; RFC 8089, 2),
 * tabs and line breaks left out, slashes after the scheme that are too few or too many.
 * None for most URIs. Without this `file:///data/../etc/passwd` would pass a rule for `file:///data/*`.
 */
export function readingsOf(uri: string): readonly Reading[] {
  const read = trimmed(uri.replaceAll(UNREAD, '')).replace(
    SLASHES,
    (_, scheme: string, { length }: string) => {
      const isFile = scheme.toLowerCase() === 'file';
      return `${scheme}:${isFile ? '/'.repeat(length < 2 ? 3 : length) : '//'}`;
    },
  );
  const same = spellings(read);
  return read === uri ? same : [{ uri: read, elsewhere: false }, ...same];
}

/** Without blanks and control characters at its ends, as that parser has it; in one pass, which no expression promises. */
function trimmed(uri: string): string {
  let [from, to] = [0, uri.length];
  while (from < to && uri.charCodeAt(from) <= 32) {
    from += 1;
  }
  while (from < to && uri.charCodeAt(to - 1) <= 32) {
    to -= 1;
  }
  return uri.slice(from, to);
}

function spellings(uri: string): readonly Reading[] {
  if (PLAIN.test(uri)) {
    return [];
  }
  const readings = new Map<string, Reading>();
  const add = (reading: Reading) => {
    if (reading.uri !== uri && readings.get(reading.uri)?.elsewhere !== true) {
      readings.set(reading.uri, reading);
    }
  };
  const spelled = withPlainSigns(uri);
  const [whole, scheme = '', rest = '', query = ''] = HIERARCHICAL.exec(spelled) ?? [];
  if (whole === undefined) {
    add({ uri: spelled, elsewhere: false });
    withoutAuthority(spelled).forEach(add);
    return [...readings.values()];
  }
  for (const each of [rest, withPlainSlashes(rest)]) {
    const cut = each.indexOf('/') < 0 ? each.length : each.indexOf('/');
    const host = each.slice(0, cut).toLowerCase();
    const path = each.slice(cut);
    const start = `${scheme.toLowerCase()}://${host === 'localhost' && /^file$/i.test(scheme) ? '' : host}`;
    add({ uri: start + path + query, elsewhere: false });
    if (DOT_SEGMENT.test(path)) {
      add({ uri: start + withoutDots(path) + query, elsewhere: true });
    }
  }
  return [...readings.values()];
}

/** `notes:data/../x` and `notes:/data/../x`, whose dot segments mean the same (RFC 3986, 3.3). */
function withoutAuthority(uri: string): readonly Reading[] {
  const [whole, scheme = '', rest = '', query = ''] = WITHOUT_AUTHORITY.exec(uri) ?? [];
  if (whole === undefined) {
    return [];
  }
  const start = `${scheme.toLowerCase()}:`;
  return [rest, withPlainSlashes(rest)].flatMap((path) => {
    const resolved = path.startsWith('/') ? withoutDots(path) : withoutDots(`/${path}`).slice(1);
    return [
      { uri: start + path + query, elsewhere: false },
      ...(DOT_SEGMENT.test(path) ? [{ uri: start + resolved + query, elsewhere: true }] : []),
    ];
  });
}

/** Escapes that nobody needs are decoded, the others in one form. */
function withPlainSigns(uri: string): string {
  return uri.replaceAll(/%([0-9A-Fa-f]{2})/g, (escaped, hex: string) => {
    const sign = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(sign) ? sign : escaped.toUpperCase();
  });
}

/** Slashes that are escaped, turned round or doubled. What begins with one is a path, and goes on being one. */
function withPlainSlashes(rest: string): string {
  return rest.replaceAll(/%2F|%5C|\\/g, '/').replaceAll(/\/{2,}/g, '/');
}

/** RFC 3986, 5.2.4; `..` at the root stays there. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split('/');
  const last = segments.at(-1);
  for (const segment of segments) {
    if (segment === '..') {
      if (kept.length > 1) {
        kept.pop();
      }
    } else if (segment !== '.') {
      kept.push(segment);
    }
  }
  return last === '.' || last === '..' ? `${kept.join('/')}/` : kept.join('/');
}
