import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../../docs');

/** Sections that a command writes, and in which document; all else there is written by hand. */
const DOCUMENT_OF = {
  compare: 'performance.md',
  warm: 'performance.md',
  features: 'performance.md',
  micro: 'performance.md',
  scale: 'performance.md',
  cluster: 'cluster.md',
  growth: 'cluster.md',
} as const;

export type Section = keyof typeof DOCUMENT_OF;

function marks(section: Section): readonly [string, string] {
  return [`<!-- bench ${section} -->`, `<!-- end of bench ${section} -->`];
}

/** Puts a text in the place of a section. Throws where the document has none of that name. */
export function replaced(document: string, section: Section, text: string): string {
  const [begin, end] = marks(section);
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from === -1 || to < from) {
    throw new Error(`docs/${DOCUMENT_OF[section]} has no section ${section}`);
  }
  return `${document.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${document.slice(to)}`;
}

/** Writes a section of its document, headed by when and where it was measured. */
export function writeSection(section: Section, about: string, text: string): void {
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'})`;
  const head = `${day}, Node ${process.versions.node}, ${machine} shared by client, target and servers; ${about}.`;
  const file = join(DOCS, DOCUMENT_OF[section]);
  writeFileSync(file, replaced(readFileSync(file, 'utf8'), section, `${head}\n\n${text}`));
}
