import { GatewayError } from '../base/errors.ts';
import type { Entry } from '../catalog/snapshot.ts';
import type { View } from '../catalog/view.ts';
import type { LockState } from '../vetting/lock.ts';
import type { RequestContext } from './context.ts';
import type { GoneTool } from './gone.ts';
import { nearby } from './nearby.ts';
import { flag, routed } from './record.ts';

/**
 * What somebody is told who may use a thing that nobody has approved. It is there for them: what the answer says of it,
 * they may know.
 */
export function unapproved(
  thing: { readonly upstream: string; readonly original: string },
  lock: LockState,
  context: RequestContext,
): GatewayError {
  const { upstream, original } = thing;
  flag(context, 'quarantined');
  const isReadable = lock !== undefined && 'lock' in lock;
  const detail = isReadable
    ? `The operator of this gateway looks at it with \`patchbay pin\`, and approves it with \`${commandFor(upstream, original)}\`.`
    : 'Nobody knows what is approved: the operator of this gateway finds out why with `patchbay check`.';
  return new GatewayError('UNAPPROVED', { upstream, detail });
}

/** Names come from a server, and may be made for a shell; one that needs more than quotes is not repeated. */
function commandFor(upstream: string, original: string): string {
  const name = /^[\p{L}\p{N} .,:;/@+=?&#{}()_-]{1,256}$/u.test(original)
    ? `${upstream}.${original}`
    : `${upstream}.*`;
  return `patchbay pin --approve '${name}'`;
}

/** What somebody is told who calls a tool by an old list. `view`: what they see now. */
export function wentAway(tool: GoneTool, view: View, lock: LockState, context: RequestContext): GatewayError {
  const { upstream, to } = tool;
  routed(context, tool);
  flag(context, 'gone');
  const listed = view.list('tools');
  const now = listed.find(({ entry }) => entry.upstream === upstream && entry.original === to);
  if (now !== undefined) {
    return new GatewayError('TOOL_GONE', { upstream, detail: `It is called "${nameOf(now.item)}" now.` });
  }
  const near = nearby(tool, listed).map((name) => `"${name}"`);
  const detail = near.length === 0 ? undefined : `What comes nearest to it here: ${near.join(', ')}.`;
  const held = to === undefined ? undefined : heldAs(to, tool, view);
  return held === undefined
    ? new GatewayError('TOOL_GONE', { upstream, ...(detail === undefined ? {} : { detail }) })
    : unapproved(held, lock, context);
}

/** The new name of a renamed tool, where that waits for approval. */
function heldAs(to: string, { upstream }: GoneTool, view: View): Entry | undefined {
  return view.withheldOf(upstream, to);
}

function nameOf(item: { readonly [member: string]: unknown }): string {
  return String(item['name']);
}
