import { isRpcId, type RpcId } from '../protocol/json-rpc.ts';

/**
 * The id of a response of which only the two ends are at hand, because it is too large or damaged. Undefined where it
 * cannot be told for certain, and for requests: their ids are the peer's own and name nothing of ours.
 *
 * Peers write `id` before the result, or after it (the TypeScript SDK: result, jsonrpc, id), so both ends are looked at.
 */
export function peekResponseId(head: string, tail: string): RpcId | undefined {
  const first = firstMembers(head);
  if (first === undefined || first.names.has('method') || first.names.has('params')) {
    return undefined;
  }
  return first.id ?? idAtEnd(tail);
}

/**
 * In a well-formed object the brace that ends the text closes the outermost object, so a member right before it belongs
 * to that one; and an unescaped quote after a comma cannot stand inside a string.
 */
const LAST_ID =
  /,\s*"id"\s*:\s*(-?\d{1,16}|"(?:[^"\\]|\\.){0,256}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

function idAtEnd(tail: string): RpcId | undefined {
  return idOf(LAST_ID.exec(tail)?.[1]);
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,{}[\]"]+/y;
const SPACE = /\s*/y;

/** Names of the outermost object's members as far as the text goes, and its id when its value is complete. */
function firstMembers(text: string): { names: Set<string>; id: RpcId | undefined } | undefined {
  const names = new Set<string>();
  let at = spaceEnd(text, 0);
  if (text[at] !== '{') {
    return undefined;
  }
  let id: RpcId | undefined;
  do {
    const name = tokenAt(STRING, text, spaceEnd(text, at + 1));
    if (name === undefined) {
      break;
    }
    names.add(name.token.slice(1, -1));
    const colon = spaceEnd(text, name.end);
    const start = spaceEnd(text, colon + 1);
    const value = valueAt(text, start);
    if (text[colon] !== ':' || value === undefined) {
      break;
    }
    if (name.token === '"id"') {
      id = idOf(text.slice(start, value));
    }
    at = spaceEnd(text, value);
  } while (text[at] === ',');
  return { names, id };
}

/** Where the value that starts at `from` ends, or undefined when the text ends before it does. */
function valueAt(text: string, from: number): number | undefined {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      const string = tokenAt(STRING, text, at);
      if (string === undefined) {
        return undefined;
      }
      at = string.end;
    } else if (char === '{' || char === '[') {
      depth += 1;
      at += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      at += 1;
    } else {
      at = depth === 0 ? (tokenAt(SCALAR, text, at)?.end ?? text.length) : at + 1;
    }
    if (depth <= 0) {
      return at < text.length ? at : undefined;
    }
  }
  return undefined;
}

function tokenAt(pattern: RegExp, text: string, at: number): { token: string; end: number } | undefined {
  pattern.lastIndex = at;
  const token = pattern.exec(text)?.[0];
  return token === undefined ? undefined : { token, end: at + token.length };
}

function spaceEnd(text: string, at: number): number {
  return at + (tokenAt(SPACE, text, at)?.token.length ?? 0);
}

function idOf(literal: string | undefined): RpcId | undefined {
  if (literal === undefined) {
    return undefined;
  }
  try {
    const value: unknown = JSON.parse(literal);
    return isRpcId(value) ? value : undefined;
  } catch {
    // Not a JSON literal: then there is no id to read, which is an answer.
    return undefined;
  }
}
