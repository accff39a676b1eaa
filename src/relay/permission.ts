import type { Subject } from '../access/policy.ts';
import { GatewayError } from '../base/errors.ts';
import { type RequestContext, type Standpoint, sightOf } from './context.ts';
import { flag, routed } from './record.ts';

/** Longest name that a log line repeats. */
const LABEL_LENGTH = 128;

/** Whether it exists at all for this client, here: what does not is answered like what nobody has ever heard of. */
export function exists(subject: Subject, where: Standpoint): boolean {
  return sightOf(where).shows(subject);
}

/**
 * Throws SCOPE_INSUFFICIENT where a use of what a client sees needs scopes that it lacks; the error names all that the
 * use needs, so that a client asks for them once (spec 2026-07-28: basic/authorization, Scope Challenge Handling). Every
 * use of a named thing passes here, so this is where its record learns what it is.
 */
export function requireScopes(subject: Subject, context: RequestContext): void {
  const { access } = context;
  routed(context, subject);
  if (access.lacking(subject).length > 0) {
    const scopes = access.needed(subject);
    throw new GatewayError('SCOPE_INSUFFICIENT', {
      detail: `Needed: ${scopes.join(' ')}.`,
      data: { requiredScopes: scopes },
      scopes,
    });
  }
}

/**
 * Says in the log what the answer does not: whether there is no such thing, or this principal may not use it.
 * `found`: what the name or URI stands for, for somebody who may see everything.
 */
export function logAbsence(
  about: { readonly kind: Subject['kind']; readonly name: string; readonly found: Subject | undefined },
  context: RequestContext,
): void {
  const { access, principal, log } = context;
  const { kind, found } = about;
  const forbidden = found !== undefined && !access.shows(found);
  if (forbidden) {
    routed(context, found);
    flag(context, 'forbidden');
  }
  log.info(
    {
      kind,
      name: labelOf(about),
      upstream: found?.upstream,
      principal: principal.id,
      reason: forbidden ? 'forbidden' : 'unknown',
    },
    'nothing here for that name',
  );
}

/** A name is one of a few words; a URI may hold a path, a query or a password (case C-095), so only its scheme is told. */
function labelOf({ kind, name }: { readonly kind: Subject['kind']; readonly name: string }): string {
  const isUri = kind === 'resources' || kind === 'templates';
  return isUri ? `${/^[a-z][a-z0-9+.-]{0,31}:/i.exec(name)?.[0] ?? ''}…` : name.slice(0, LABEL_LENGTH);
}
