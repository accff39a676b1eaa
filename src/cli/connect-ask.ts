import { createInterface } from 'node:readline/promises';

/** Asks a person; only a yes is one. The end of the input is a no. */
export async function confirmed(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  try {
    const gone = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    return /^y(?:es)?$/i.test((await Promise.race([lines.question(`${question} [y/N] `), gone])).trim());
  } finally {
    lines.close();
  }
}
