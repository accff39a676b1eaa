import { basename, dirname } from 'node:path';
import { variableFor } from './ids.ts';
import { cut, literal, type Part, VARIABLE, type Wording } from './wording.ts';

/** What references in a file mean beside variables. */
export interface Surroundings {
  /** Folder of the project that the file belongs to; undefined where it belongs to the user. */
  readonly workspace: string | undefined;
  /** `inputs` of VS Code by id, with their default. */
  readonly inputs: ReadonlyMap<string, string | undefined>;
}

/** Reads the references of one host. `odd` hears, in words, of what cannot be looked up here. */
export type Dialect = (text: string, around: Surroundings, odd: (message: string) => void) => Wording;

/** Claude Desktop, Cline and Zed expand nothing: what looks like a reference is for the server itself. */
export const noReferences: Dialect = (text) => literal(text);

/** Claude Code: `${V}` and `${V:-default}`; a bare `$V` is text. */
export const claudeCode: Dialect = (text) =>
  cut(text, /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, ([, variable = '', standIn]) => ({
    variable,
    standIn,
  }));

/** Gemini CLI: `$V`, `${V}` and `${V:-default}`. */
export const gemini: Dialect = (text) =>
  cut(
    text,
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)/g,
    ([, braced, standIn, bare = '']) => ({ variable: braced ?? bare, standIn }),
  );

/** mcp-hub: `${V}`, `${env:V}`, `$V`, what an editor knows of its workspace, and the output of commands. */
export const hub: Dialect = (text, around, odd) =>
  cut(text, /\$\{([^{}]+)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g, ([whole, body, bare]) => {
    if (bare !== undefined) {
      return { variable: bare };
    }
    if (/^cmd:/.test(body ?? '')) {
      odd('the output of a command stood here; run it yourself, and name a variable or a file');
      return undefined;
    }
    return VARIABLE.test(body ?? '') ? { variable: body ?? '' } : ofEditor(whole, body ?? '', around, odd);
  });

/** opencode: `{env:V}` and `{file:path}`. */
export const opencode: Dialect = (text, _around, odd) =>
  cut(text, /\{(env|file):([^{}]+)\}/g, ([, kind, what = '']) =>
    kind === 'file' ? { file: what } : variable(what, odd),
  );

/** VS Code, Cursor and Windsurf: `${env:V}`, `${input:id}`, and what the editor knows of its workspace. */
export const editor: Dialect = (text, around, odd) =>
  cut(text, /\$\{([^{}]+)\}/g, ([whole, body = '']) => ofEditor(whole, body, around, odd));

function ofEditor(
  whole: string,
  body: string,
  around: Surroundings,
  odd: (message: string) => void,
): Part | undefined {
  const [kind = '', ...rest] = body.split(':');
  const what = rest.join(':');
  if (kind === 'env' && what !== '') {
    return variable(what, odd);
  }
  if (kind === 'input' && what !== '') {
    return input(what, around, odd);
  }
  const known = placeOf(body, around);
  if (known === undefined) {
    odd(`nothing stands for ${JSON.stringify(whole)} here`);
  }
  return known;
}

function variable(name: string, odd: (message: string) => void): Part | undefined {
  if (!VARIABLE.test(name)) {
    odd('a variable of that name cannot be looked up');
    return undefined;
  }
  return { variable: name };
}

function input(id: string, { inputs }: Surroundings, odd: (message: string) => void): Part {
  if (!inputs.has(id)) {
    odd(`the input "${id}" is not declared`);
  }
  return { variable: variableFor(id), standIn: inputs.get(id) };
}

function placeOf(body: string, { workspace }: Surroundings): Part | undefined {
  if (body === '/' || body === 'pathSeparator') {
    return { literal: '/' };
  }
  if (body === 'userHome') {
    return { variable: 'HOME' };
  }
  // Stays a reference, so that the configuration can move; the folder that the file stands in is what it meant.
  if (body === 'workspaceFolder') {
    return { variable: 'WORKSPACE_FOLDER', standIn: safe(workspace) };
  }
  if (body === 'workspaceFolderBasename') {
    const name = workspace === undefined ? undefined : basename(workspace);
    return { variable: 'WORKSPACE_FOLDER_BASENAME', standIn: safe(name) };
  }
  return undefined;
}

/** A default ends at the first brace. */
const safe = (text: string | undefined) => (text?.includes('}') ? undefined : text);

/** The project that a file belongs to, by the folder it stands in; `path` is absolute. */
export function workspaceOf(path: string, home: string | undefined): string | undefined {
  const folder = dirname(path);
  const isOfProject = ['.vscode', '.cursor', '.gemini', '.codex', '.opencode'].includes(basename(folder));
  const workspace = isOfProject ? dirname(folder) : undefined;
  return workspace === home ? undefined : workspace;
}
