import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWaits } from './waits.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string>>;
  /** 2: error. */
  readonly status: number;
}

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  readonly headers: readonly Readonly<Record<string, string | string[] | undefined>>[];
  /** The status that it answers from now on. */
  answer(status: number): void;
  until(found: (spans: readonly CollectedSpan[]) => boolean): Promise<void>;
}

/** A receiver of OTLP over HTTP: it decodes protobuf bodies as opentelemetry-proto (trace/v1) has them. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const headers: Collector['headers'][number][] = [];
  const waits = createWaits();
  let status = 200;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      headers.push(request.headers);
      if (status === 200) {
        spans.push(...spansOf(Buffer.concat(parts)));
      }
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
      waits.check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    headers,
    answer(next) {
      status = next;
    },
    async until(found) {
      await waits.until(
        () => (found(spans) ? true : undefined),
        () => `the collector has ${spans.map(({ name }) => name).join(', ')}`,
      );
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

/** The fields of one protobuf message, by number: bytes, or numbers. */
function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) {
        throw new Error('a protobuf message ends too early');
      }
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const kept = fields.get(tag >> 3) ?? [];
    fields.set(tag >> 3, kept);
    const type = tag & 7;
    if (type === 0) {
      kept.push(varint());
    } else if (type === 1 || type === 5) {
      const size = type === 1 ? 8 : 4;
      kept.push(message.subarray(at, at + size));
      at += size;
    } else if (type === 2) {
      const size = Number(varint());
      kept.push(message.subarray(at, at + size));
      at += size;
    } else {
      throw new Error(`a protobuf field of type ${type}`);
    }
  }
  return fields;
}

const bytes = (fields: Fields, field: number) =>
  (fields.get(field) ?? []).filter((value): value is Buffer => Buffer.isBuffer(value));
const text = (fields: Fields, field: number) => bytes(fields, field)[0]?.toString('utf8') ?? '';
const hex = (fields: Fields, field: number) => bytes(fields, field)[0]?.toString('hex') ?? '';

function spansOf(body: Buffer): readonly CollectedSpan[] {
  return bytes(fieldsOf(body), 1)
    .flatMap((resource) => bytes(fieldsOf(resource), 2))
    .flatMap((scope) => bytes(fieldsOf(scope), 2))
    .map((span) => {
      const fields = fieldsOf(span);
      const [status] = bytes(fields, 15);
      return {
        traceId: hex(fields, 1),
        spanId: hex(fields, 2),
        parentSpanId: hex(fields, 4),
        name: text(fields, 5),
        kind: Number(fields.get(6)?.[0] ?? 0),
        attributes: Object.fromEntries(
          bytes(fields, 9).map((each) => {
            const attribute = fieldsOf(each);
            return [text(attribute, 1), text(fieldsOf(bytes(attribute, 2)[0] ?? Buffer.alloc(0)), 1)];
          }),
        ),
        status: status === undefined ? 0 : Number(fieldsOf(status).get(3)?.[0] ?? 0),
      };
    });
}
