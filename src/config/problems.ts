import { GatewayError } from '../base/errors.ts';

/** Keys and list positions from the root of the file to one value. */
export type Path = readonly (string | number)[];

/** Lines and columns count from 1; line 0 means that the fault is not in the text of the file. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** One mistake. No field ever holds a value of the file or of a variable, since any of them may be a secret. */
export interface Problem extends Place {
  /** `upstreams.files.timeouts.call`, `args[0]`; "" for the file as a whole. */
  readonly path: string;
  readonly message: string;
  /** The known word that was probably meant. */
  readonly nearest?: string;
}

/** Every mistake of one configuration at once, in the order of the file. */
export class ConfigError extends GatewayError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], file: string, cause?: unknown) {
    const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
    super('CONFIG_INVALID', { logged: formatProblems(ordered, file), cause });
    this.name = 'ConfigError';
    this.problems = ordered;
  }
}

/** One line a problem: `file:line:column path: message (did you mean "x"?)`. @internal */
export function formatProblems(problems: readonly Problem[], file: string): string {
  return problems
    .map(({ path, line, column, message, nearest }) => {
      const where = line === 0 ? file : `${file}:${line}:${column}`;
      const what = path === '' ? '' : ` ${path}`;
      return `${where}${what}: ${message}${nearest === undefined ? '' : ` (did you mean "${nearest}"?)`}`;
    })
    .join('\n');
}

const PLAIN_KEY = /^[\p{L}\p{N}_-]+$/u;
const LONGEST_KEY = 60;

/** A path as text. Odd keys are quoted and long ones cut: a key is shown, but it must not break the line. */
export function pathText(path: Path): string {
  return path.reduce<string>((before, step) => {
    if (typeof step === 'number') {
      return `${before}[${step}]`;
    }
    const shown = step.length > LONGEST_KEY ? `${step.slice(0, LONGEST_KEY)}…` : step;
    if (!PLAIN_KEY.test(step)) {
      return `${before}[${JSON.stringify(shown)}]`;
    }
    return before === '' ? shown : `${before}.${shown}`;
  }, '');
}
