/**
 * Does a URI come from an RFC 6570 template? Routing needs only yes or no, never the values. Matching keeps the set of
 * positions that the parts so far can end at, so it is linear in parts times characters: an upstream's template cannot
 * make it backtrack, and no regular expression is built from one.
 */
export interface UriTemplate {
  matches(uri: string): boolean;
  /** What comes before the first expression: a URI that begins otherwise never matches. */
  readonly prefix: string;
  /** Length of the template: the work of a match is at most this times the length of the URI. */
  readonly length: number;
  /** Equal for templates that match the same URIs whatever their variables are called. */
  readonly shape: string;
}

/** Longest template that is compiled, and longest URI that is matched. */
const LONGEST_TEMPLATE = 4096;
const LONGEST_URI = 4096;
const MOST_EXPRESSIONS = 32;

/** Most work for one look-up in one upstream's templates: some hundred that begin as the URI does. */
const LOOKUP_BUDGET = 100_000;
/** Most work for all the URIs of one result: a server decides how many there are, and which templates are tried. */
const RESULT_BUDGET = 10_000_000;
/** The work of seeing that a template begins otherwise. */
const GLANCE = 4;

/** Work that is left, in characters of templates times characters of URIs. Negative once there was not enough. */
export interface Work {
  left: number;
}

export function workForOneResult(): Work {
  return { left: RESULT_BUDGET };
}

/**
 * The first of one upstream's candidates whose template matches. Thousands of hostile templates must not stall the
 * loop: what is still unmatched when the budget is spent counts as no match, the same for the same list and URI; with
 * `work` also when that is spent.
 */
export function firstMatch<T extends { readonly compiled: UriTemplate | undefined }>(
  candidates: readonly T[],
  uri: string,
  work: Work = { left: Number.POSITIVE_INFINITY },
): T | undefined {
  let budget = LOOKUP_BUDGET;
  for (const candidate of candidates) {
    const { compiled } = candidate;
    work.left -= GLANCE;
    if (compiled === undefined || !uri.startsWith(compiled.prefix)) {
      continue;
    }
    const cost = compiled.length * uri.length;
    budget -= cost;
    work.left -= budget < 0 ? 0 : cost;
    if (budget < 0 || work.left < 0) {
      return undefined;
    }
    if (compiled.matches(uri)) {
      return candidate;
    }
  }
  return undefined;
}

/** Marks in `to` where this part can end, given where it can begin; position i is before character i. */
type Step = (uri: string, from: Uint8Array) => Uint8Array;

interface Part {
  readonly step: Step;
  readonly shape: string;
}

/**
 * Compiles a template; undefined for one that is malformed, over 4 KiB, or of more than 32 expressions. What matches:
 * `{x}` one or more characters other than `/ ? #` (so percent-encoded ones stay as they are, and a variable never
 * crosses a segment); `{+x}` one or more of any; `{#x}` `{.x}` `{/x}` and the named `{;x}` `{?x,y}` `{&x}` may be
 * absent, as for undefined variables; named ones match their own names in any order, exploded ones any name. A length
 * limit (`{x:3}`) is not checked.
 */
export function compileTemplate(template: string): UriTemplate | undefined {
  if (template.length > LONGEST_TEMPLATE) {
    return undefined;
  }
  const parts: Part[] = [];
  let expressions = 0;
  for (let at = 0; at < template.length; ) {
    const open = template.indexOf('{', at);
    const text = template.slice(at, open === -1 ? undefined : open);
    if (text.includes('}')) {
      return undefined;
    }
    if (text !== '') {
      parts.push({ step: literal(text), shape: text });
    }
    if (open === -1) {
      break;
    }
    const close = template.indexOf('}', open);
    const part = close === -1 ? undefined : expression(template.slice(open + 1, close));
    expressions += 1;
    if (part === undefined || expressions > MOST_EXPRESSIONS) {
      return undefined;
    }
    parts.push(part);
    at = close + 1;
  }
  const prefix = template.slice(0, Math.max(0, template.indexOf('{')));
  return {
    shape: parts.map((part) => part.shape).join(''),
    prefix,
    length: template.length,
    matches: (uri) => uri.length <= LONGEST_URI && uri.startsWith(prefix) && reachesEnd(uri, parts),
  };
}

function reachesEnd(uri: string, parts: readonly Part[]): boolean {
  let positions: Uint8Array = new Uint8Array(uri.length + 1);
  positions[0] = 1;
  for (const { step } of parts) {
    positions = step(uri, positions);
  }
  return positions[uri.length] === 1;
}

/** The part for what stands between braces; undefined where that is no expression of RFC 6570, section 2.2. */
function expression(body: string): Part | undefined {
  const operator = '+#./;?&'.includes(body.charAt(0)) ? body.charAt(0) : '';
  const names: string[] = [];
  let exploded = false;
  for (const variable of body.slice(operator.length).split(',')) {
    const name = /^([\w.%-]+)(\*|:\d{1,4})?$/u.exec(variable);
    if (name?.[1] === undefined) {
      return undefined;
    }
    names.push(name[1]);
    exploded ||= name[2] === '*';
  }
  switch (operator) {
    case '':
      return { step: run('/?#', 1), shape: '{}' };
    case '+':
      return { step: run('', 1), shape: '{+}' };
    case '#':
      return { step: led('#', '', 1), shape: '{#}' };
    case '.':
      return { step: led('.', '/?#', 1), shape: '{.}' };
    case '/':
      return exploded
        ? { step: led('/', '?#', 1), shape: '{/*}' }
        : { step: led('/', '/?#', names.length), shape: `{/${names.length}}` };
    default: {
      const known = exploded ? undefined : new Set(names);
      const shape = `{${operator}${exploded ? '*' : names.toSorted().join(',')}}`;
      return { step: named(operator, operator === '?' ? '&' : operator, known), shape };
    }
  }
}

function literal(text: string): Step {
  return (uri, from) => {
    const to = new Uint8Array(from.length);
    for (let at = from.indexOf(1); at !== -1; at = from.indexOf(1, at + 1)) {
      if (uri.startsWith(text, at)) {
        to[at + text.length] = 1;
      }
    }
    return to;
  };
}

/** `least` (0 or 1) or more characters, none of `stop`. */
function run(stop: string, least: 0 | 1): Step {
  return (uri, from) => {
    const to = new Uint8Array(from.length);
    let inside = false;
    for (let at = 0; at < from.length; at += 1) {
      const begins = from[at] === 1;
      to[at] = inside || (begins && least === 0) ? 1 : 0;
      inside = (inside || begins) && at < uri.length && !stop.includes(uri.charAt(at));
    }
    return to;
  };
}

/** Nothing, or up to `times` runs that each begin with `lead`. */
function led(lead: string, stop: string, times: number): Step {
  const value = run(stop, 0);
  return (uri, from) => {
    const to = from.slice();
    let begins = from;
    for (let time = 0; time < times && begins.includes(1); time += 1) {
      const ends = value(uri, afterCharacter(uri, begins, lead));
      ends.forEach((end, at) => {
        to[at] = end === 1 ? 1 : (to[at] ?? 0);
      });
      begins = ends;
    }
    return to;
  };
}

function afterCharacter(uri: string, from: Uint8Array, character: string): Uint8Array {
  const to = new Uint8Array(from.length);
  for (let at = from.indexOf(1); at !== -1 && at < uri.length; at = from.indexOf(1, at + 1)) {
    to[at + 1] = uri.charAt(at) === character ? 1 : 0;
  }
  return to;
}

/** Nothing, or `lead` and `name=value` pairs with `separator` between them; `names` undefined: any. */
function named(lead: string, separator: string, names: ReadonlySet<string> | undefined): Step {
  const longest = Math.max(0, ...Array.from(names ?? [], (name) => name.length));
  return (uri, from) => {
    const to = from.slice();
    const begins = afterCharacter(uri, from, lead);
    const pairEnds = nextOf(uri, `${separator}#`);
    const nameEnds = nextOf(uri, `${separator}#=`);
    for (let at = begins.indexOf(1); at !== -1; at = begins.indexOf(1, at + 1)) {
      const end = pairEnds[at] ?? uri.length;
      const nameEnd = nameEnds[at] ?? uri.length;
      if (names === undefined || (nameEnd - at <= longest && names.has(uri.slice(at, nameEnd)))) {
        to[end] = 1;
        if (uri.charAt(end) === separator) {
          begins[end + 1] = 1;
        }
      }
    }
    return to;
  };
}

/** For each position where the next of these characters stands, from there on; the end of the URI if none does. */
function nextOf(uri: string, characters: string): Uint32Array {
  const next = new Uint32Array(uri.length + 1);
  let found = uri.length;
  for (let at = uri.length; at >= 0; at -= 1) {
    found = at < uri.length && characters.includes(uri.charAt(at)) ? at : found;
    next[at] = found;
  }
  return next;
}
