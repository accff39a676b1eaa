/** Where references are looked up. */
export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Content of a file as text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
}

export interface Expansion {
  readonly text: string;
  /** Whether any reference was expanded, and so whether the text is more than what stands in the file. */
  readonly expanded: boolean;
  /** What came from variables and files; defaults stand in the configuration and are no secrets. */
  readonly secrets: readonly string[];
  /** References that lead nowhere, in words: "the variable X is not set". */
  readonly unset: readonly string[];
  /** References that make no sense, in words. */
  readonly wrong: readonly string[];
}

// `$${` is looked for first: it is the only way to write a literal `${`. A reference ends at the first brace.
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FILE = /^file:(.+)$/s;
const FOREIGN = /^([A-Za-z_][A-Za-z0-9_]*)(:-.*)?$/s;

type Found =
  | { readonly value: string; readonly secret: boolean }
  | { readonly unset: string }
  | { readonly wrong: string };

/**
 * Expands `${env:X}`, `${env:X:-default}` and `${file:/path}`, and turns `$${` into `${` (case C-079). Done once: what
 * a variable or a file holds is never looked at again, so `${…}`, `$&` and `$$` in it survive. A bare `$X` is no
 * reference. A variable that is set but empty is empty, also where there is a default.
 */
export function expand(text: string, sources: Sources): Expansion {
  const secrets: string[] = [];
  const unset: string[] = [];
  const wrong: string[] = [];
  let expanded = false;
  // The replacement is a function: as a string, `$&` in a secret would be taken as a pattern of `replace` itself.
  const result = text.replace(REFERENCE, (whole, body: string | undefined, end: string | undefined) => {
    if (body === undefined) {
      return '${';
    }
    expanded = true;
    const found: Found =
      end === '' ? { wrong: `a \${ has no closing }; write $\${ for a literal one` } : look(body, sources);
    if ('value' in found) {
      if (found.secret) {
        secrets.push(found.value);
      }
      return found.value;
    }
    if ('unset' in found) {
      unset.push(found.unset);
    } else {
      wrong.push(found.wrong);
    }
    return whole;
  });
  return { text: result, expanded, secrets, unset, wrong };
}

function look(body: string, sources: Sources): Found {
  if (body.includes('${')) {
    return { wrong: 'a reference cannot stand inside another one' };
  }
  const [, variable, standIn] = VARIABLE.exec(body) ?? [];
  if (variable !== undefined) {
    return lookUpVariable(variable, standIn, sources.env);
  }
  const [, path] = FILE.exec(body) ?? [];
  if (path !== undefined) {
    return lookUpFile(path, sources.readFile);
  }
  const [, name, rest] = FOREIGN.exec(body) ?? [];
  if (name !== undefined) {
    return {
      wrong: `write \${env:${name}${rest === undefined ? '' : ':-…'}} for a variable, or $\${ for a literal \${`,
    };
  }
  return {
    wrong: `only \${env:NAME}, \${env:NAME:-default} and \${file:PATH} are known; write $\${ for a literal \${`,
  };
}

function lookUpVariable(name: string, standIn: string | undefined, env: Sources['env']): Found {
  // Own members only: a variable called `constructor` is not set just because every object has one.
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined) {
    return { value, secret: true };
  }
  return standIn === undefined
    ? { unset: `the variable ${name} is not set` }
    : { value: standIn, secret: false };
}

function lookUpFile(path: string, readFile: Sources['readFile']): Found {
  try {
    // Editors and `echo` end a file with a line break that is no part of the secret.
    return { value: readFile(path).replace(/[\r\n]+$/, ''), secret: true };
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    return { unset: `its file cannot be read${code}` };
  }
}
