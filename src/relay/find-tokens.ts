/** How many tokens a text is. */
export type CountTokens = (text: string) => number;

/**
 * Longest text that is counted at once, in UTF-16 units: one long run of signs without a break would take time by its
 * square. What a cut adds is less than a token each.
 */
const LONGEST_AT_ONCE = 2_048;

let loading: Promise<CountTokens> | undefined;

/**
 * The tokenizer o200k_base, of the GPT-4o and later models; others count alike within a few percent for such texts.
 * Loaded when it is first asked for: its vocabulary takes some 70 MB.
 */
export function tokenizer(): Promise<CountTokens> {
  loading ??= load();
  return loading;
}

async function load(): Promise<CountTokens> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // What looks like a control token is text like any other here.
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => {
    let count = 0;
    for (let at = 0; at < text.length; at += LONGEST_AT_ONCE) {
      count += countTokens(text.slice(at, at + LONGEST_AT_ONCE), asText);
    }
    return count;
  };
}
