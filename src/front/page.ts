/** One file of the operator page, as `.ci/build.ts` has made it. */
export interface PageFile {
  readonly type: string;
  /** Compressed with gzip, in base64. */
  readonly gzip: string;
  /** Of an index: what its ETag is. Absent: its name tells its content. */
  readonly digest?: string;
}

/** By name; the index is ''. */
export type PageFiles = Readonly<Record<string, PageFile>>;

/** Beside the program, a file of its own: only whoever opens the page needs it. Run from its sources: as last built. */
const FILE = import.meta.url.endsWith('.ts') ? '../../dist/ui.js' : './ui.js';

let files: Promise<PageFiles> | undefined;

/** The page; rejects where it was not built. */
export function loadPage(): Promise<PageFiles> {
  files ??= import(new URL(FILE, import.meta.url).href).then(
    (module: { readonly FILES: PageFiles }) => module.FILES,
  );
  return files;
}
