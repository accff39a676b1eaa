import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

const DOCUMENT = join(import.meta.dirname, '../../docs/performance.md');

/** Sections of the document that a command writes; all else in it is written by hand. */
export type Section = 'compare' | 'features' | 'micro' | 'scale';

function marks(section: Section): readonly [string, string] {
  return [`<!-- bench ${section} -->`, `<!-- end of bench ${section} -->`];
}

/** Puts a text in the place of a section. Throws where the document has none of that name. */
export function replaced(document: string, section: Section, text: string): string {
  const [begin, end] = marks(section);
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) {
    throw new Error(`docs/performance.md has no section ${section}`);
  }
  return `${document.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${document.slice(to)}`;
}

/** Writes a section of docs/performance.md, headed by when and where it was measured. */
export function writeSection(section: Section, about: string, text: string): void {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'})`;
  const head = `${day}, Node ${process.versions.node}, ${machine} shared by client, target and servers; ${about}.`;
  writeFileSync(DOCUMENT, replaced(readFileSync(DOCUMENT, 'utf8'), section, `${head}\n\n${text}`));
}
