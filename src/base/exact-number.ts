/** What ECMA-262 has for numbers that are to be written as they are (Node 22), and the compiler does not know yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/** A number of a JSON text that JavaScript's numbers cannot hold. `JSON.stringify` writes it as it was written. */
export class ExactNumber {
  readonly #source: string;

  /** `source`: a number by the grammar of JSON (RFC 8259, 6). */
  constructor(source: string) {
    this.#source = source;
  }

  /** The nearest one that there is; never infinite, which no number of JSON is. */
  get nearest(): number {
    return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(this.#source)));
  }

  toJSON(): object {
    return rawJSON(this.#source);
  }
}
