/** Largest document that is read, in bytes. */
const MOST_BYTES = 1024 * 1024;

/**
 * Asks for a JSON document with GET. Follows no redirect, and reads no body larger than 1 MiB. `body` is undefined where
 * the answer is not 200 with JSON. Rejects where there is no answer, where it is too large, and when `signal` aborts.
 */
export async function fetchJson(
  url: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const headers = { accept: 'application/json', 'user-agent': 'patchbay' };
  const response = await fetch(url, { headers, redirect: 'manual', signal });
  const { status } = response;
  if (status !== 200) {
    await response.body?.cancel();
    return { status, body: undefined };
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) {
      throw new Error('the document is too large');
    }
    chunks.push(chunk);
  }
  return { status, body: parsed(Buffer.concat(chunks).toString('utf8')) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A page for people where a document was expected: the caller hears that there is none.
    return undefined;
  }
}
