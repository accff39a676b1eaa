/** What of the inside of a server the text of an error may give away. */
export type Detail = 'stack trace' | 'path' | 'SQL' | 'internal host';

/** A text is looked at this far, in characters: messages are shorter, and what follows is more of the same. */
const LONGEST_ERROR = 16_384;

/** Sources of regular expressions. Every step of one is bounded, so that the time is linear. */
const anyOf = (...sources: readonly string[]) => sources.map((source) => `(?:${source})`).join('|');

const PRIVATE_ADDRESS = anyOf(
  String.raw`10(?:\.\d{1,3}){3}`,
  String.raw`192\.168(?:\.\d{1,3}){2}`,
  String.raw`172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}`,
  String.raw`127(?:\.\d{1,3}){3}`,
  'localhost',
);
/** What ends a path in a sentence. */
const IN_PATH = String.raw`[^\s"'${'`'}<>|:;,)\]}]`;
const FOLDERS = 'home|Users|root|usr|var|opt|etc|srv|app|tmp|private|workspaces?|mnt|nix|proc|snap|Library';

const LEAKS: readonly (readonly [Detail, RegExp])[] = [
  [
    'SQL',
    new RegExp(
      anyOf(
        String.raw`SQLSTATE\[[^\n]{1,200}`,
        String.raw`\bORA-\d{5}[^\n]{0,200}`,
        String.raw`\bSQLITE_[A-Z]{3,20}\b[^\n]{0,200}`,
        String.raw`sqlite3\.[A-Z][A-Za-z]{2,30}Error`,
        String.raw`\bPG::[A-Z][A-Za-z]{2,30}`,
        String.raw`syntax error at or near "[^"\n]{0,100}"`,
        String.raw`You have an error in your SQL syntax[^\n]{0,300}`,
        String.raw`\b(?:SELECT\b[^\n]{1,300}\bFROM|INSERT INTO|DELETE FROM|UPDATE\b[^\n]{1,100}\bSET)\b[^\n]{1,400}`,
      ),
      'g',
    ),
  ],
  [
    'internal host',
    new RegExp(
      anyOf(
        // Without a port or a scheme it may be a version.
        String.raw`(?<![\w.])(?:(?<=\/\/)(?:${PRIVATE_ADDRESS})(?::\d{1,5})?|(?:${PRIVATE_ADDRESS}):\d{1,5})(?![\w.]*\w)`,
        String.raw`(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,6}(?:internal|local|lan|corp|intranet|svc)(?::\d{1,5})?(?![\w-])`,
      ),
      'gi',
    ),
  ],
  [
    'path',
    new RegExp(
      anyOf(
        String.raw`(?<![\w/.:~-])\/(?:${FOLDERS})\/${IN_PATH}{1,300}`,
        String.raw`(?<![A-Za-z])[A-Za-z]:\\${IN_PATH}{1,300}`,
      ),
      'g',
    ),
  ],
];

/** One line of a stack. */
const FRAME = new RegExp(
  String.raw`^\s{0,16}(?:${anyOf(
    // JavaScript, Java and .NET.
    String.raw`at .{1,300}(?::\d+(?::\d+)?\)?|\((?:native|Native Method|<anonymous>|Unknown Source)\)|:line \d+)`,
    // Python.
    String.raw`File ".{1,300}", line \d+(?:, in .{1,100})?`,
    String.raw`Traceback \(most recent call last\):`,
    // Ruby and PHP.
    String.raw`from .{1,300}:\d+:in [${'`'}'].{1,100}`,
    String.raw`#\d{1,3} .{1,300}\(\d+\): .{1,200}`,
    // Go.
    String.raw`goroutine \d{1,9} \[[a-z ,0-9]{1,40}\]:`,
    String.raw`.{1,300}\.go:\d{1,6}(?: \+0x[0-9a-f]{1,8})?`,
    // Rust.
    String.raw`\d{1,3}: 0x[0-9a-f]{6,16} - .{1,300}`,
    'stack backtrace:',
  )})\s*$`,
);
const HEADS = /^\s{0,16}(?:Traceback|goroutine|stack backtrace)/;

export interface Details {
  readonly found: ReadonlySet<Detail>;
  /** The text without them. */
  readonly trimmed: string;
}

/**
 * What the text of an error gives away of the inside of its server. What the caller said itself is no leak: `known` is what
 * it sent.
 */
export function detailsIn(text: string, known: string): Details {
  const found = new Set<Detail>();
  const rest = text.slice(LONGEST_ERROR);
  let trimmed = withoutStack(text.slice(0, LONGEST_ERROR), found);
  for (const [detail, pattern] of LEAKS) {
    trimmed = trimmed.replaceAll(pattern, (leak) => {
      if (known.includes(JSON.stringify(leak).slice(1, -1))) {
        return leak;
      }
      found.add(detail);
      return `[${detail}]`;
    });
  }
  return { found, trimmed: found.size === 0 ? text : trimmed + (rest === '' ? '' : ' […]') };
}

/** One line alone may be prose: two frames, or one under its head, are a stack. */
function withoutStack(text: string, found: Set<Detail>): string {
  const lines = text.split('\n');
  const isFrame = lines.map((line) => line.length <= 700 && FRAME.test(line));
  const frames = isFrame.filter(Boolean).length;
  if (frames < 2 && !lines.some((line, at) => isFrame[at] === true && HEADS.test(line))) {
    return text;
  }
  found.add('stack trace');
  const kept: string[] = [];
  let inStack = false;
  for (const [at, line] of lines.entries()) {
    // Python and Go put a line of code, or the function, between two frames.
    const isBetween = inStack && /^\s{2,}\S|^[\w./*()]{1,200}\(.{0,200}\)$/.test(line);
    if (isFrame[at] === true || isBetween) {
      if (!inStack) {
        kept.push('[stack trace]');
      }
      inStack = true;
    } else {
      kept.push(line);
      inStack = false;
    }
  }
  return kept.join('\n');
}
