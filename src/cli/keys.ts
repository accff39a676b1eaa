import { type NewKey, newKey } from '../access/keys.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';

export interface NewKeyOptions {
  readonly json?: boolean;
  readonly groups?: readonly string[];
  readonly scopes?: readonly string[];
}

/** An entry of `auth.keys`, as the configuration has it. */
interface KeyEntry {
  readonly id: string;
  readonly sha256: string;
  readonly groups?: readonly string[];
  readonly scopes?: readonly string[];
}

/** `keys new`: makes a key for `auth.mode: keys` and prints it with its entry. It is kept nowhere. */
export async function keysNew(
  id: string,
  { json, groups, scopes }: NewKeyOptions,
  io: Io,
): Promise<ExitCode> {
  if (id.trim() === '') {
    io.err('error: the id must not be empty\n');
    return EXIT.usage;
  }
  const { key, sha256 } = newKey();
  const entry: KeyEntry = {
    id,
    sha256,
    ...(groups === undefined ? {} : { groups }),
    ...(scopes === undefined ? {} : { scopes }),
  };
  io.out(json === true ? `${JSON.stringify({ key, entry })}\n` : asText(key, entry));
  return EXIT.ok;
}

function asText(key: NewKey['key'], entry: KeyEntry): string {
  return [
    `The key, shown this once: whoever has it is "${entry.id}".`,
    `  ${key}`,
    'Its line for "auth.keys" in the configuration:',
    `  - ${asYaml(entry)}`,
    '',
  ].join('\n');
}

/** Texts are written as JSON, which YAML takes as it is; `${` would be a reference of the configuration. */
function asYaml(entry: KeyEntry): string {
  const members = Object.entries(entry).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `{ ${members.join(', ')} }`.replaceAll('${', () => '$${').replaceAll('","', '", "');
}
