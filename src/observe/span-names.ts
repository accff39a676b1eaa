import { type JsonObject, stringAt } from '../base/json.ts';
import { withoutSecrets } from '../base/secrets.ts';

/** Attributes of the semantic conventions for MCP (OpenTelemetry), and what their texts are cut to. */

export const LONGEST_TEXT = 256;

/** What a span is named after, besides its method: few names, so no URIs. */
export function targetOf(method: string, params: JsonObject | undefined): string | undefined {
  const named = method === 'tools/call' || method === 'prompts/get';
  const name = named ? stringAt(params, 'name') : undefined;
  return name === undefined ? undefined : short(name);
}

export function namesOf(method: string, params: JsonObject | undefined): Record<string, string> {
  const name = targetOf(method, params);
  const uri = method.startsWith('resources/') ? stringAt(params, 'uri') : undefined;
  return {
    'mcp.method.name': method,
    ...(method === 'tools/call' ? { 'gen_ai.operation.name': 'execute_tool' } : {}),
    ...(name === undefined
      ? {}
      : { [method === 'tools/call' ? 'gen_ai.tool.name' : 'gen_ai.prompt.name']: name }),
    // A query may hold what is nobody's business.
    ...(uri === undefined ? {} : { 'mcp.resource.uri': short(uri.replace(/[?#].*$/s, '')) }),
  };
}

export function short(text: string): string {
  return withoutSecrets(text).slice(0, LONGEST_TEXT);
}
