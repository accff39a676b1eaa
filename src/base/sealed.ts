import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from './json.ts';

/**
 * Tokens that leave the gateway and come back: session ids, cursors, request states. Each is a JSON object sealed with
 * AES-256-GCM under a key of its own purpose, so a cursor can never be shown as a session id. Visible ASCII only
 * (2025-11-25 transports, session ids: 0x21 to 0x7E).
 */
export interface Sealer {
  seal(purpose: string, content: JsonObject): string;
  /**
   * The content, or undefined for anything forged, damaged, longer than `longest` characters, or sealed for another
   * purpose or with another key.
   */
  open(purpose: string, token: string, longest?: number): JsonObject | undefined;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** No token that holds only what is ours is longer; what is longer is not worth decoding. */
const LONGEST_TOKEN = 16_384;

/** What is derived of one key. */
class Keys {
  readonly #key: Buffer;
  readonly #derived = new Map<string, Buffer>();

  constructor(key: Buffer) {
    if (key.length !== KEY_BYTES) {
      throw new RangeError(`a sealing key has ${KEY_BYTES} bytes, not ${key.length}`);
    }
    this.#key = key;
  }

  for(purpose: string): Buffer {
    const known = this.#derived.get(purpose);
    if (known) {
      return known;
    }
    const derived = Buffer.from(hkdfSync('sha256', this.#key, '', `patchbay ${purpose}`, KEY_BYTES));
    this.#derived.set(purpose, derived);
    return derived;
  }
}

/**
 * Each key is 32 random bytes; throws RangeError for any other length. What the `older` ones sealed is opened as well, so
 * that a key can be changed while tokens are out.
 */
export function createSealer(key: Buffer, older: readonly Buffer[] = []): Sealer {
  const newest = new Keys(key);
  const ring = [newest, ...older.map((each) => new Keys(each))];
  return {
    seal(purpose, content) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.for(purpose), iv);
      const body = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url');
    },
    open(purpose, token, longest = LONGEST_TOKEN) {
      if (token.length > longest) {
        return undefined;
      }
      const bytes = Buffer.from(token, 'base64url');
      if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== token) {
        return undefined;
      }
      for (const keys of ring) {
        const content = opened(bytes, keys.for(purpose));
        if (content !== undefined) {
          return content;
        }
      }
      return undefined;
    },
  };
}

function opened(bytes: Buffer, key: Buffer): JsonObject | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const body = bytes.subarray(IV_BYTES, -TAG_BYTES);
    const text = Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    const content: unknown = JSON.parse(text);
    return isObject(content) ? content : undefined;
  } catch {
    // A tag that does not verify is the answer, not a fault: the token is not ours, or of another key.
    return undefined;
  }
}
