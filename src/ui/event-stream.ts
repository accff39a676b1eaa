import { createParser } from 'eventsource-parser';

/** Longest event that is waited for, in characters. */
const LONGEST = 64 * 1024 * 1024;

/** The data of each event of a stream, until it ends; the parser is bounded by {@link LONGEST}. */
export async function* eventsOf(response: Response): AsyncGenerator<string> {
  const ready: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(data), maxBufferSize: LONGEST });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      parser.feed(read.value);
      yield* ready.splice(0);
    }
  } finally {
    // Whoever stops reading wants no more: closing the stream is how a call is cancelled (streamable-http, Cancellation).
    await reader?.cancel();
  }
}
