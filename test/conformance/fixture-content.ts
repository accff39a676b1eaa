import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../src/base/json.ts';

/** What the suite expects by name and can be had without asking the client anything. */

/** A one-pixel PNG, and a WAV file without a sample. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const NOTE = {
  uri: 'test://embedded-resource',
  mimeType: 'text/plain',
  text: 'This is an embedded resource content.',
};
const MIXED = {
  uri: 'test://mixed-content-resource',
  mimeType: 'application/json',
  text: JSON.stringify({ test: 'data', value: 123 }),
};

/** Exactly what the suite wants to find again: keywords that a rebuilt schema would lose (SEP-1613, SEP-2106). */
const RICH_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** Time between two messages of one call, so that they do not arrive as one, in ms. */
const STEP_MS = 50;

export const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** A JSON Schema as the SDK takes it. `Args` is what the schema describes. */
export function schemaOf<Args>(schema: JsonObject) {
  return fromJsonSchema<Args>(schema as JsonSchemaType);
}

export function strings<Name extends string>(...names: Name[]) {
  return schemaOf<Record<Name, string>>({
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [name, { type: 'string', description: `The ${name}` }]),
    ),
    required: names,
  });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, STEP_MS));

export function addContent(server: McpServer): void {
  addAnswers(server);
  addStreams(server);
  addPrompts(server);
  addResources(server);
}

function addAnswers(server: McpServer): void {
  const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' };
  const answers: Record<string, CallToolResult> = {
    test_simple_text: said('This is a simple text response for testing.'),
    test_image_content: { content: [image] },
    test_audio_content: { content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] },
    test_embedded_resource: { content: [{ type: 'resource', resource: NOTE }] },
    test_multiple_content_types: {
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        { type: 'resource', resource: MIXED },
      ],
    },
  };
  for (const [name, answer] of Object.entries(answers)) {
    server.registerTool(name, { description: `Answers at once: ${name}` }, () => answer);
  }
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: schemaOf<JsonObject>(RICH_SCHEMA) },
    () => said('valid'),
  );
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Has an argument that is mirrored into a header',
      inputSchema: schemaOf<{ region?: string }>({
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      }),
    },
    ({ region }) => said(`region ${region ?? 'not given'}`),
  );
}

function addStreams(server: McpServer): void {
  server.registerTool('test_tool_with_logging', { description: 'Logs while it works' }, async (context) => {
    await context.mcpReq.log('info', 'Tool execution started');
    await pause();
    await context.mcpReq.log('info', 'Tool processing data');
    await pause();
    await context.mcpReq.log('info', 'Tool execution completed');
    return said('logged');
  });
  server.registerTool(
    'test_logging_tool',
    { description: 'Logs, if that was asked for' },
    async (context) => {
      await context.mcpReq.log('info', 'heard only where a level was given');
      return said('logged');
    },
  );
  server.registerTool('test_tool_with_progress', { description: 'Reports its progress' }, async (context) => {
    for (const progress of [0, 50, 100]) {
      await report(context, progress);
      await pause();
    }
    return said('arrived');
  });
  server.registerTool(
    'test_reconnection',
    { description: 'Ends its stream before its result' },
    async (context) => {
      context.http?.closeSSE?.();
      await pause();
      return said('came after the stream was closed');
    },
  );
}

async function report(context: ServerContext, progress: number): Promise<void> {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken !== undefined) {
    const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
    await context.mcpReq.notify({ method: 'notifications/progress', params });
  }
}

function addPrompts(server: McpServer): void {
  const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });
  server.registerPrompt('test_simple_prompt', { description: 'A plain prompt' }, () => ({
    messages: [user('This is a simple prompt for testing.')],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Repeats its arguments', argsSchema: strings('arg1', 'arg2') },
    ({ arg1, arg2 }) => ({ messages: [user(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Embeds a resource', argsSchema: strings('resourceUri') },
    ({ resourceUri }) => {
      const text = 'Embedded resource content for testing.';
      const resource = { uri: resourceUri, mimeType: 'text/plain', text };
      const embedded = { role: 'user' as const, content: { type: 'resource' as const, resource } };
      return { messages: [embedded, user('Please process the embedded resource above.')] };
    },
  );
  server.registerPrompt('test_prompt_with_image', { description: 'Shows a picture' }, () => {
    const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' };
    return { messages: [{ role: 'user', content: image }, user('Please analyze the image above.')] };
  });
  server.server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['paris', 'park', 'party'].filter((word) => word.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

function addResources(server: McpServer): void {
  const plain = { description: 'Text that never changes', mimeType: 'text/plain' };
  server.registerResource('static-text', 'test://static-text', plain, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }));
  const png = { description: 'A picture that never changes', mimeType: 'image/png' };
  server.registerResource('static-binary', 'test://static-binary', png, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PIXEL }],
  }));
  const watched = { description: 'Can be subscribed to', mimeType: 'text/plain' };
  server.registerResource('watched', 'test://watched-resource', watched, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'Watched resource content' }],
  }));
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'One of many', mimeType: 'application/json' },
    ({ href: uri }, { id }) => {
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` });
      return { contents: [{ uri, mimeType: 'application/json', text }] };
    },
  );
}
