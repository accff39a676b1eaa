/**
 * A program of WebAssembly with one function, put together from expressions: enough of the binary format (WebAssembly
 * core specification 2.0, 5) for a loop over bytes in vectors, which JavaScript has no words for. Opcodes are those of
 * 5.4; what an expression needs on the stack comes before it.
 */
export type Code = readonly number[];

const I32 = 0x7f;
const V128 = 0x7b;
const VECTOR = 0xfd;
const NO_RESULT = 0x40;
const PAGE = 65_536;

/** Bytes of memory that a program has. */
export const MEMORY_BYTES = PAGE;

function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const rest = value >> 7;
  const low = value & 0x7f;
  return (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40) ? [low] : [low | 0x80, ...signed(rest)];
}

const vector = (opcode: number) => [VECTOR, ...unsigned(opcode)];
const of =
  (opcode: Code) =>
  (...operands: readonly Code[]): Code => [...operands.flat(), ...opcode];

/** Numbers of 32 bits. */
export const i32 = {
  of: (value: number): Code => [0x41, ...signed(value)],
  isZero: of([0x45]),
  less: of([0x49]),
  trailingZeros: of([0x68]),
  add: of([0x6a]),
  sub: of([0x6b]),
  and: of([0x71]),
  or: of([0x72]),
  xor: of([0x73]),
  shl: of([0x74]),
  shr: of([0x76]),
};

/** 16 bytes at once; what compares gives bytes of all ones or none. */
export const v128 = {
  load: (address: Code): Code => [...address, ...vector(0x00), 0, 0],
  of: (bytes: Code): Code => [...vector(0x0c), ...bytes],
  all: (byte: number): Code => v128.of(new Array<number>(16).fill(byte)),
  /** The bytes of a table of 16 at these places. */
  at: of(vector(0x0e)),
  equal: of(vector(0x23)),
  differ: of(vector(0x24)),
  less: of(vector(0x26)),
  and: of(vector(0x4e)),
  or: of(vector(0x50)),
  isAny: of(vector(0x53)),
  /** The highest bit of each byte: that of the first byte is the lowest. */
  bits: of(vector(0x64)),
  shr: of(vector(0x6d)),
  sub: of(vector(0x71)),
};

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
export const when = (condition: Code, ...then: readonly Code[]): Code => [
  ...condition,
  0x04,
  NO_RESULT,
  ...then.flat(),
  0x0b,
];
/** Again and again, until something in it returns. */
export const forever = (...body: readonly Code[]): Code => [
  0x03,
  NO_RESULT,
  ...body.flat(),
  0x0c,
  0,
  0x0b,
  0x00,
];
export const giveBack = (value: Code): Code => [...value, 0x0f];

const section = (id: number, ...content: readonly Code[]): Code => {
  const bytes = content.flat();
  return [id, ...unsigned(bytes.length), ...bytes];
};
const name = (text: string): Code => [text.length, ...Buffer.from(text)];

export interface Program {
  readonly memory: Uint8Array;
  readonly run: (...numbers: readonly number[]) => number;
}

/** What is used of it. Node has it; the types of TypeScript have it among those of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; readonly run: Program['run'] };
  };
};

/**
 * Builds and loads it. The function takes `parameters` numbers, which are its first locals; then come `numbers` and `vectors`
 * more. Throws where the processor has no vectors, or there is no room.
 */
export function load(
  { parameters, numbers, vectors }: Readonly<Record<'parameters' | 'numbers' | 'vectors', number>>,
  ...body: readonly Code[]
): Program {
  const locals = [2, ...unsigned(numbers), I32, ...unsigned(vectors), V128];
  const code = [...locals, ...body.flat(), 0x0b];
  const module = new WebAssembly.Module(
    Uint8Array.of(
      ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, [1, 0x60, parameters, ...new Array<number>(parameters).fill(I32), 1, I32]),
      ...section(3, [1, 0]),
      ...section(5, [1, 1, 1, 1]),
      ...section(7, [2], name('memory'), [2, 0], name('run'), [0, 0]),
      ...section(10, [1], unsigned(code.length), code),
    ),
  );
  const { memory, run } = new WebAssembly.Instance(module).exports;
  return { memory: new Uint8Array(memory.buffer), run };
}
