import type { Log } from '../base/log.ts';
import type { Kind } from '../protocol/model.ts';
import type { ExposedName } from './naming.ts';
import type { CatalogFinding, UpstreamPart } from './part.ts';

/** A finding as one text: two of one name say the same. */
export function findingName({ upstream, id, item, reason }: CatalogFinding): string {
  return JSON.stringify([upstream, id, item, reason]);
}

export function logFinding(log: Log, finding: CatalogFinding): void {
  const { upstream, kind, id, item, reason, severity } = finding;
  log[severity === 'notice' ? 'info' : 'warn']({ upstream, kind, finding: id, item, reason }, 'finding');
}

/** Each finding is logged when it is new, not whenever a list is read (cases C-005, C-009). */
export function logNews(log: Log, now: readonly CatalogFinding[], before: readonly CatalogFinding[]): void {
  if (now !== before) {
    const known = new Set(before.map(findingName));
    for (const finding of now.filter((each) => !known.has(findingName(each)))) {
      logFinding(log, finding);
    }
  }
}

/** What repairing and walking its lists had to say about one upstream. */
export function listFindings({ upstream, lists }: UpstreamPart): CatalogFinding[] {
  return Object.values(lists).flatMap((list) => list.findings.map((finding) => ({ upstream, ...finding })));
}

/**
 * At most one finding about a name: its dotted form comes first, since that is the default. A digest in the strict form
 * alone is no fault, only something to know.
 */
export function nameFinding(
  about: { readonly kind: Kind; readonly upstream: string; readonly name: string },
  dotted: ExposedName,
  strict: ExposedName,
): readonly CatalogFinding[] {
  const style = dotted.digested === undefined ? 'strict' : 'dotted';
  const { digested, name } = style === 'dotted' ? dotted : strict;
  if (digested === undefined) {
    return [];
  }
  const common = {
    severity: style === 'dotted' ? ('warning' as const) : ('notice' as const),
    kind: about.kind,
    upstream: about.upstream,
    item: about.name,
  };
  const where = `${style === 'dotted' ? 'It' : 'In strict names it'} is served as ${name}`;
  if (digested === 'shortened') {
    const reason = `With its namespace the name is too long. ${where}.`;
    const advice = 'Give the server a shorter namespace or the tool a shorter name.';
    return [{ id: 'name.shortened', ...common, reason, advice }];
  }
  const reason = `Another one would have the same name. ${where}.`;
  const advice = 'Give one of the servers another namespace, or one of the two another name.';
  return [{ id: 'name.collided', ...common, reason, advice }];
}

export function uriFinding(kind: Kind, upstream: string, original: string, exposed: string): CatalogFinding {
  return {
    id: 'uri.renamed',
    severity: 'warning',
    kind,
    upstream,
    item: original,
    reason: `Another server, earlier in the configuration, has it too. This one is served as ${exposed}.`,
    advice:
      'Nothing has to be done; put the server that should keep the plain URI first in the configuration.',
  };
}

export function templateFinding(about: {
  readonly upstream: string;
  readonly template: string;
}): CatalogFinding {
  return {
    id: 'template.unreadable',
    severity: 'warning',
    kind: 'templates',
    upstream: about.upstream,
    item: about.template,
    reason: 'It is no URI template that can be matched: listed, but URIs made from it lead nowhere.',
    advice: 'Ask the author of the server to write it as RFC 6570 does.',
  };
}
