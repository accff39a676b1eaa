/** What the recordings of one client showed beyond its requests. */
export interface Remark {
  readonly says: string;
  /** It hands names to model APIs as they are, and those refuse dots; or it cannot call a name that has one. */
  readonly strict?: true;
}

/** By client, and by version where two differ. */
export const REMARKS: Readonly<Record<string, Remark>> = {
  'ai-sdk-mcp 1.0.102': { says: 'Opens with a GET that has no session. Ignores list_changed.', strict: true },
  'ai-sdk-mcp 2.0.99': { says: 'Opens no stream.', strict: true },
  'claude-code 2.1.332': {
    says: 'Gives discover 5 s, then goes back to the old era. Shows dots as `_`. Leaves its sessions behind.',
  },
  'claude-code-mcp-list 2.1.197': { says: 'A health check: reads the first page of the tools.' },
  'claude-code-mcp-list 2.1.332': { says: 'A health check: reads the first page of the tools.' },
  'cline 3.0.65': {
    says: 'Waits 10 s for initialize. Reads the first page only. Cuts names at 64 characters. Ignores list_changed.',
  },
  'codex 0.171.0': {
    says: 'Shows dots as `_`. Ignores list_changed. Sends a progress token and members of its own with every call.',
  },
  'codex-mcp-list 0.171.0': { says: 'Looks for a sign-in and never speaks MCP.' },
  'continue-cli 1.5.47': {
    says: 'Reads the first page only. Drops `anyOf` at the root of a schema. Ignores list_changed.',
    strict: true,
  },
  'copilot-cli 1.0.102': {
    says: 'Gives discover 1 s, then goes back to the old era. Shows dots as `-`; cuts prefix and name at 64 characters together.',
  },
  'gemini-cli-mcp-list 0.61.0': { says: 'Sends a ping only, and no version header ever. Waits 5 s.' },
  'google-adk 2.0.0': {
    says: 'Opens a session for every operation and ends none. Reads the first page only.',
    strict: true,
  },
  'inspector-cli 0.15.0': { says: 'Lists the tools before each call.' },
  'inspector-cli 2.12.0': { says: 'Speaks the old era unless told otherwise. Sets the log level first.' },
  'inspector-cli-auto 2.12.0': { says: 'With `--protocol-era auto`.' },
  'inspector-cli-modern 2.12.0': { says: 'With `--protocol-era modern`: no way back to the old era.' },
  'langchain-mcp-adapters 1.1.4': {
    says: 'Tries `/sse` when it is refused. Ignores list_changed.',
    strict: true,
  },
  'mastra-mcp 0.14.5': { says: 'Reads the first page only. Puts a `timeout` into the params of its lists.' },
  'mastra-mcp 2.0.0': {
    says: 'Gives discover 3 s. Opens no stream; keeps a list for as long as `ttlMs` says.',
  },
  'mcp-remote 0.15.1': {
    says: 'A bridge. Sends `Mcp-Method` in the old era too. Leaves a second session with an open stream behind.',
  },
  'mcp-use 1.34.6': { says: 'Reads the first page only.' },
  'mcporter 0.12.3': { says: 'One connection a command. Takes a dot in a name for its own.', strict: true },
  'openai-agents 0.20.0': { says: 'Gives discover 5 s. Lists before each use. Shows dots as `_`.' },
  'opencode 1.18.33': { says: 'Cancels each call after its answer. Shows dots as `_`.' },
  'opencode-mcp-list 1.18.33': { says: 'A health check.' },
  'qwen-code 0.24.4': { says: 'Sends HEAD when it is refused.' },
  'strands-agents 1.19.0': { says: 'Lists again 0.3 s after a change.', strict: true },
  'supergateway 4.0.0': { says: 'A bridge for one host.' },
  'ts-client 2.4.0-auto': {
    says: '`@modelcontextprotocol/client`, era `auto`: a stream only if the application wants one.',
  },
  'ts-client 2.4.0-legacy': { says: '`@modelcontextprotocol/client` as it comes.' },
  'ts-client 2.4.0-pin': { says: '`@modelcontextprotocol/client` pinned to the new era: no way back.' },
  'ts-sdk 1.10.2': { says: '`@modelcontextprotocol/sdk`. Sends no version header ever.' },
  'ts-sdk 1.32.2': {
    says: '`@modelcontextprotocol/sdk`. One `outputSchema` that is no object costs it the whole list.',
  },
  'voltagent-core 2.10.0': { says: 'Reads the first page only. Ignores list_changed.' },
};
