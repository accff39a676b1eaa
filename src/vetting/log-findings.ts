import type { Log } from '../base/log.ts';
import type { VettingFinding } from './finding.ts';

/** Most lines at once: whoever wants them all runs `patchbay check`. */
const MOST_LINES = 100;

/** A finding as one text: two of one name say the same. */
export function findingName({ upstream, kind, id, item, reason }: VettingFinding): string {
  return JSON.stringify([upstream, kind, id, item, reason]);
}

/** `quiet`: the level of notices. Errors and warnings come first where there are too many. */
export function logFindings(log: Log, findings: readonly VettingFinding[], quiet: 'debug' | 'info'): void {
  const grave = findings.filter(({ severity }) => severity !== 'notice');
  const ordered = [...grave, ...findings.filter(({ severity }) => severity === 'notice')];
  for (const { upstream, kind, id, item, reason, severity } of ordered.slice(0, MOST_LINES)) {
    const level = severity === 'notice' ? quiet : severity === 'error' ? 'error' : 'warn';
    log[level]({ upstream, kind, finding: id, item, reason }, 'finding');
  }
  if (ordered.length > MOST_LINES) {
    log.warn({ more: ordered.length - MOST_LINES }, 'more findings: `patchbay check` shows all of them');
  }
}
