import { connect } from 'node:net';

/** What came over the connection before it was closed. */
export interface RawAnswer {
  /** 0 where nothing came that begins like HTTP. */
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Who ended it: the server, or this client because it had heard enough. */
  readonly ended: 'server' | 'client';
}

export interface RawOptions {
  /** Closes this side when nothing came for so many ms: what is incomplete is so for good. Default: never. */
  readonly finishMs?: number;
  /** How long an event stream may go on without an event, ms: it may be one that never ends. */
  readonly streamMs?: number;
}

/** Longest wait for an answer, ms. */
const PATIENCE = 15_000;

/** Writes these pieces to a connection of its own, each in a turn of the loop of its own, and reads what comes. */
export function exchangeRaw(
  port: number,
  pieces: readonly Buffer[],
  { finishMs, streamMs = 150 }: RawOptions = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    let heard = Buffer.alloc(0);
    let quiet: NodeJS.Timeout | undefined;
    let finish: NodeJS.Timeout | undefined;
    const end = (ended: RawAnswer['ended']) => {
      clearTimeout(late);
      clearTimeout(quiet);
      clearTimeout(finish);
      socket.destroy();
      resolve({ ...parse(heard), ended });
    };
    const late = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(`no end after ${PATIENCE} ms: ${JSON.stringify(heard.toString('latin1').slice(0, 500))}`),
      );
    }, PATIENCE);
    // A server may refuse before it has read everything; what it said until then counts.
    socket.on('error', () => end('server'));
    socket.on('end', () => end('server'));
    socket.on('close', () => end('server'));
    socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk]);
      clearTimeout(finish);
      if (isWhole(heard)) {
        end('client');
      } else if (heard.toString('latin1').toLowerCase().includes('content-type: text/event-stream')) {
        clearTimeout(quiet);
        quiet = setTimeout(() => end('client'), streamMs);
      }
    });
    socket.on('connect', () => {
      const [...left] = pieces;
      const next = () => {
        const piece = left.shift();
        if (piece === undefined) {
          if (finishMs !== undefined) {
            finish = setTimeout(() => socket.end(), finishMs);
          }
        } else if (!socket.destroyed && socket.writable) {
          socket.write(piece, () => setImmediate(next));
        }
      };
      next();
    });
  });
}

/** `100 Continue`, which another answer follows. */
function isProvisional(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 12).endsWith(' 100') && bytes.includes('\r\n\r\n');
}

/** Whether the answer has ended though the connection goes on. */
function isWhole(bytes: Buffer): boolean {
  const split = bytes.indexOf('\r\n\r\n');
  if (split < 0) {
    return false;
  }
  if (isProvisional(bytes)) {
    return isWhole(bytes.subarray(split + 4));
  }
  const head = bytes.toString('latin1', 0, split).toLowerCase();
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  return length === undefined
    ? head.includes('transfer-encoding: chunked') && bytes.subarray(-5).equals(Buffer.from('0\r\n\r\n'))
    : bytes.length >= split + 4 + Number(length);
}

function parse(bytes: Buffer): Omit<RawAnswer, 'ended'> {
  if (isProvisional(bytes)) {
    return parse(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4));
  }
  const split = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes
    .subarray(0, split < 0 ? bytes.length : split)
    .toString('latin1')
    .split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const rest = split < 0 ? Buffer.alloc(0) : bytes.subarray(split + 4);
  const body = headers.get('transfer-encoding') === 'chunked' ? dechunked(rest) : rest;
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${first} `)?.[1] ?? 0),
    headers,
    body: body.toString('utf8'),
  };
}

function dechunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const length = line < 0 ? 0 : Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    if (!(length > 0)) {
      return Buffer.concat(parts);
    }
    parts.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}

/** The messages of an answer, whichever form it has; undefined where there is something else. */
export function messagesOf({ headers, body }: RawAnswer): readonly unknown[] | undefined {
  const type = headers.get('content-type') ?? '';
  try {
    if (type.startsWith('text/event-stream')) {
      const data = [...body.matchAll(/^data: (.+)$/gm)].map(([, text]) => text ?? '');
      return data.map((text) => JSON.parse(text) as unknown);
    }
    return body === '' ? [] : [JSON.parse(body) as unknown].flat();
  } catch {
    return undefined;
  }
}

/** A whole request as bytes. `chunks`: where to cut the body into chunks; without, its length is told. */
export function requestBytes(
  lines: readonly string[],
  body: string | Buffer,
  chunks?: (bytes: Buffer) => readonly Buffer[],
): Buffer {
  const bytes = Buffer.from(body);
  if (chunks === undefined) {
    return Buffer.concat([
      Buffer.from([...lines, `Content-Length: ${bytes.length}`, '', ''].join('\r\n'), 'latin1'),
      bytes,
    ]);
  }
  const head = Buffer.from([...lines, 'Transfer-Encoding: chunked', '', ''].join('\r\n'), 'latin1');
  return Buffer.concat([head, chunked(chunks(bytes))]);
}

/** A whole body in these chunks. */
export function chunked(pieces: readonly Buffer[]): Buffer {
  const framed = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...framed, Buffer.from('0\r\n\r\n')]);
}
