/**
 * Texts that come up while the gateway runs and that no log may hold: tokens got for upstreams, and those that users
 * came with. One list for the process, so that there is no log that does not know it (case C-095).
 */

const MASK = '[secret]';
/** Shorter texts are no secrets worth the name, and masking them would make logs unreadable. */
const SHORTEST = 8;
/** Of a secret that was cut, this much of its beginning is masked too. */
const RECOGNISED = 12;

/** How often each text was added, under its first signs: what a line is searched for. */
const known = new Map<string, Map<string, number>>();

/** From now on `text` is masked in every log line, until the returned function is called; adding it twice counts. */
export function keepSecret(text: string): () => void {
  // In a log line it stands as JSON writes it.
  const written = JSON.stringify(text).slice(1, -1);
  if (written.length < SHORTEST) {
    return () => {};
  }
  const head = written.slice(0, SHORTEST);
  const alike = known.get(head) ?? new Map<string, number>();
  known.set(head, alike);
  alike.set(written, (alike.get(written) ?? 0) + 1);
  let kept = true;
  return () => {
    if (kept) {
      kept = false;
      forget(head, alike, written);
    }
  };
}

function forget(head: string, alike: Map<string, number>, written: string): void {
  const left = (alike.get(written) ?? 1) - 1;
  if (left > 0) {
    alike.set(written, left);
    return;
  }
  alike.delete(written);
  if (alike.size === 0 && known.get(head) === alike) {
    known.delete(head);
  }
}

/** The line without the secrets in it. Costs one look a sign however many there are. */
export function withoutSecrets(line: string): string {
  if (known.size === 0) {
    return line;
  }
  let masked = '';
  let done = 0;
  for (let at = 0; at + SHORTEST <= line.length; at += 1) {
    const alike = known.get(line.slice(at, at + SHORTEST));
    const length = alike === undefined ? 0 : agreeing(line, at, alike.keys());
    if (length > 0) {
      masked += line.slice(done, at) + MASK;
      done = at + length;
      at = done - 1;
    }
  }
  return done === 0 ? line : masked + line.slice(done);
}

/** Signs from `at` on that belong to one of the secrets: all of it, or enough of its beginning; else 0. */
function agreeing(line: string, at: number, secrets: Iterable<string>): number {
  let longest = 0;
  for (const secret of secrets) {
    let length = SHORTEST;
    while (length < secret.length && line[at + length] === secret[length]) {
      length += 1;
    }
    longest = Math.max(longest, length === secret.length || length >= RECOGNISED ? length : 0);
  }
  return longest;
}
