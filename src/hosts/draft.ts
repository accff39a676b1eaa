import { type Path, type Place, type Problem, pathText } from '../config/problems.ts';
import type { Wording } from './wording.ts';

/** Something that an import leaves out, changes, or asks for. Holds no value of the file: any may be a secret. */
export interface Notice extends Place {
  readonly file: string;
  /** Where it is about in that file; "" for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** One server of a host's file on its way into the configuration. */
export interface Draft {
  /** As the file names it. */
  readonly name: string;
  readonly path: Path;
  readonly place: Place;
  readonly about: Findings;
  command?: Wording;
  args: Wording[];
  env: Map<string, Wording>;
  passEnv: string[];
  cwd?: Wording;
  url?: Wording;
  headers: Map<string, Wording>;
  transport?: 'streamable-http' | 'sse';
  off: boolean;
  /** Milliseconds. */
  call?: number;
  connect?: number;
  allow?: readonly string[];
  deny: readonly string[];
  /** What is to be said of it beside its entry. */
  remarks: string[];
}

/** Mistakes and notices of one file. */
export class Findings {
  readonly file: string;
  readonly problems: Problem[] = [];
  readonly notices: Notice[] = [];

  constructor(file: string) {
    this.file = file;
  }

  problem(path: Path, place: Place, message: string): void {
    const { line, column } = place;
    this.problems.push({ path: pathText(path), line, column, message });
  }

  notice(path: Path, place: Place, message: string): void {
    const { line, column } = place;
    this.notices.push({ file: this.file, path: pathText(path), line, column, message });
  }
}

export function newDraft(name: string, path: Path, place: Place, about: Findings): Draft {
  const lists = { args: [], passEnv: [], deny: [], remarks: [] };
  return { name, path, place, about, ...lists, env: new Map(), headers: new Map(), off: false };
}

/** Says it on stderr and beside the entry. */
export function remark(draft: Draft, message: string, at: Path = [], place: Place = draft.place): void {
  draft.about.notice([...draft.path, ...at], place, message);
  draft.remarks.push(at.length === 0 ? message : `${pathText(at)}: ${message}`);
}

/** Every text of it, with where it stands. */
export function wordingsOf(draft: Draft): readonly (readonly [Path, Wording])[] {
  const { command, cwd, url } = draft;
  const single = Object.entries({ command, cwd, url }).flatMap(([key, text]) =>
    text === undefined ? [] : [[[key], text] as const],
  );
  return [
    ...single,
    ...draft.args.map((text, at) => [['args', at], text] as const),
    ...[...draft.env].map(([name, text]) => [['env', name], text] as const),
    ...[...draft.headers].map(([name, text]) => [['headers', name], text] as const),
  ];
}
