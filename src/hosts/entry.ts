import { type Draft, newDraft, remark } from './draft.ts';
import { type EntryContext, EntryMembers } from './members.ts';
import type { SourceEntry } from './source.ts';
import { plain } from './wording.ts';

const STDIO_KINDS = new Set(['stdio', 'local']);
const HTTP_KINDS = new Set(['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'remote']);

/** Reads one server of a host; undefined where it cannot be one here, which is then reported. */
export function readEntry(entry: SourceEntry, context: EntryContext): Draft | undefined {
  const { about } = context;
  const path = [...context.path, entry.key];
  if (entry.value.kind !== 'map') {
    about.problem(path, entry.value.place, 'must be a mapping');
    return undefined;
  }
  const before = about.problems.length;
  const draft = newDraft(entry.key, path, entry.place, about);
  const members = new EntryMembers(draft, context);
  for (const member of entry.value.entries) {
    members.take(member);
  }
  if (about.problems.length === before) {
    judge(members);
  }
  return about.problems.length > before ? undefined : draft;
}

/** What can only be said once all members are read. */
function judge(members: EntryMembers): void {
  const { draft, kind, seen, url: urlMeaning, context } = members;
  const { about, path, place, command, url } = draft;
  const problem = (message: string) => about.problem(path, place, message);
  if (command !== undefined && url !== undefined) {
    problem('both a command and a URL stand here; keep one');
  } else if (command === undefined && url === undefined) {
    if (seen.has('source') || seen.has('settings')) {
      remark(draft, 'NOT IMPORTED: it comes with an extension, which alone knows how to start it');
    } else {
      problem('neither a command nor a URL stands here');
    }
  }
  if (kind !== undefined && !STDIO_KINDS.has(kind) && !HTTP_KINDS.has(kind) && kind !== 'sse') {
    problem('its type is not a transport that is known');
  } else if (kind !== undefined && command !== undefined && !STDIO_KINDS.has(kind)) {
    problem('its type is one over HTTP, and a command stands here');
  } else if (kind !== undefined && url !== undefined && STDIO_KINDS.has(kind)) {
    problem('its type is a process, and a URL stands here');
  }
  const { http, label } = context.format;
  if (url !== undefined && (kind === 'sse' || (kind === undefined && urlMeaning === 'sseUrl'))) {
    draft.transport = 'sse';
  } else if (
    urlMeaning === 'streamableUrl' ||
    (kind !== undefined && HTTP_KINDS.has(kind) && http !== undefined)
  ) {
    draft.transport = 'streamable-http';
  }
  if (kind === undefined && url !== undefined && label === 'Claude Code') {
    const message =
      'it has no "type", and Claude Code then takes it for a command; imported as a server over HTTP';
    remark(draft, message);
  }
  if (draft.args.some((arg) => /^mcp-remote(?:@|$)/.test(plain(arg) ?? ''))) {
    remark(
      draft,
      '"mcp-remote" is a bridge: the gateway can reach that URL by itself, with "url" and "headers"',
    );
  }
}
