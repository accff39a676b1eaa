/**
 * The shapes of MCP results and notices as JSON Schemas, written for these tests after the pages of the two revisions
 * (2025-11-25 and 2026-07-28: schema, server/*, basic/*). They say what a client may rely on, no more; unknown members
 * are allowed everywhere, as the protocol wants it.
 */
export type Shape = { readonly [keyword: string]: unknown };

const text: Shape = { type: 'string' };
const flag: Shape = { type: 'boolean' };
const any: Shape = {};
const record: Shape = { type: 'object' };
const list = (of: Shape): Shape => ({ type: 'array', items: of });
const oneOf = (...words: readonly string[]): Shape => ({ enum: words });
const isA = (word: string): Shape => ({ const: word });
const either = (...shapes: readonly Shape[]): Shape => ({ anyOf: shapes });

/** An object with these members; a name that ends in `?` may be absent. */
function object(members: Readonly<Record<string, Shape>>): Shape {
  const names = Object.keys(members);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), members[name]])),
    required: names.filter((name) => !name.endsWith('?')),
  };
}

const id = either(text, { type: 'integer' });
const role = oneOf('user', 'assistant');
const base64: Shape = { type: 'string', pattern: '^[A-Za-z0-9+/]*={0,2}$' };
const uri: Shape = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9+.-]*:' };
const icons = list(
  object({ src: uri, 'mimeType?': text, 'sizes?': list(text), 'theme?': oneOf('light', 'dark') }),
);
const annotations = object({
  'audience?': list(role),
  'priority?': { type: 'number', minimum: 0, maximum: 1 },
  'lastModified?': text,
});
const implementation = object({
  name: text,
  version: text,
  'title?': text,
  'icons?': icons,
  'websiteUrl?': uri,
});
const common = { '_meta?': record };
const named = { name: text, 'title?': text, 'icons?': icons, ...common };
const contents = either(
  object({ uri, text, 'mimeType?': text, ...common }),
  object({ uri, blob: base64, 'mimeType?': text, ...common }),
);
const resource = { uri, ...named, 'description?': text, 'mimeType?': text, 'size?': { type: 'integer' } };

const block = either(
  object({ type: isA('text'), text, 'annotations?': annotations, ...common }),
  object({
    type: oneOf('image', 'audio'),
    data: base64,
    mimeType: text,
    'annotations?': annotations,
    ...common,
  }),
  object({ type: isA('resource_link'), ...resource, 'annotations?': annotations }),
  object({ type: isA('resource'), resource: contents, 'annotations?': annotations, ...common }),
);

const hints = object({
  'title?': text,
  'readOnlyHint?': flag,
  'destructiveHint?': flag,
  'idempotentHint?': flag,
  'openWorldHint?': flag,
});
const objectSchema = object({ type: isA('object'), '$schema?': text });
/** Up to 2025-11-25 a schema is one of plain objects: its properties are objects, not true or false. */
const plainSchema = object({
  type: isA('object'),
  '$schema?': text,
  'properties?': { type: 'object', additionalProperties: record },
  'required?': list(text),
});

const tool = (inputSchema: Shape, outputSchema: Shape, more: Readonly<Record<string, Shape>>) =>
  object({
    ...named,
    'description?': text,
    inputSchema,
    'outputSchema?': outputSchema,
    'annotations?': hints,
    ...more,
  });

const prompt = object({
  ...named,
  'description?': text,
  'arguments?': list(object({ name: text, 'title?': text, 'description?': text, 'required?': flag })),
});

const listChanged = object({ 'listChanged?': flag });
const capabilities = object({
  'tools?': listChanged,
  'prompts?': listChanged,
  'resources?': object({ 'listChanged?': flag, 'subscribe?': flag }),
  'logging?': record,
  'completions?': record,
  'experimental?': { type: 'object', additionalProperties: record },
  'extensions?': { type: 'object', additionalProperties: record },
});

const page = (member: string, item: Shape) => ({ [member]: list(item), 'nextCursor?': text });
const LISTS = {
  'prompts/list': page('prompts', prompt),
  'resources/list': page('resources', object({ ...resource, 'annotations?': annotations })),
  'resources/templates/list': page(
    'resourceTemplates',
    object({
      ...named,
      uriTemplate: text,
      'description?': text,
      'mimeType?': text,
      'annotations?': annotations,
    }),
  ),
};
const ANSWERS = {
  'prompts/get': {
    'description?': text,
    messages: list(object({ role, content: block })),
  },
  'completion/complete': {
    completion: object({
      values: { ...list(text), maxItems: 100 },
      'total?': { type: 'integer' },
      'hasMore?': flag,
    }),
  },
};

/** Not there at all: the schema that nothing satisfies. */
const never: Shape = { not: {} };
/** Members that only the modern era has; a legacy result must not show them (design of the gateway, not of MCP). */
const LEGACY: Readonly<Record<string, Shape>> = {
  ...common,
  'resultType?': never,
  'ttlMs?': never,
  'cacheScope?': never,
};
const MODERN: Readonly<Record<string, Shape>> = {
  '_meta?': object({ 'io.modelcontextprotocol/serverInfo?': implementation }),
  resultType: isA('complete'),
};
const CACHED: Readonly<Record<string, Shape>> = {
  ...MODERN,
  ttlMs: { type: 'integer', minimum: 0 },
  cacheScope: oneOf('public', 'private'),
};

function shapes(
  cached: Readonly<Record<string, Shape>>,
  plain: Readonly<Record<string, Shape>>,
  own: Readonly<Record<string, Shape>>,
  aTool: Shape,
  structured: Shape,
): Readonly<Record<string, Shape>> {
  const made: Record<string, Shape> = { 'tools/list': object({ ...page('tools', aTool), ...cached }) };
  for (const [method, members] of Object.entries(LISTS)) {
    made[method] = object({ ...members, ...cached });
  }
  for (const [method, members] of Object.entries(ANSWERS)) {
    made[method] = object({ ...members, ...plain });
  }
  made['resources/read'] = object({ contents: list(contents), ...cached });
  made['tools/call'] = object({
    content: list(block),
    'structuredContent?': structured,
    'isError?': flag,
    ...plain,
  });
  return { ...made, ...own };
}

/** Complete results of the legacy era by method. */
export const LEGACY_RESULTS = shapes(
  LEGACY,
  LEGACY,
  {
    initialize: object({
      protocolVersion: text,
      capabilities,
      serverInfo: implementation,
      'instructions?': text,
      ...LEGACY,
    }),
    ping: object(LEGACY),
    'logging/setLevel': object(LEGACY),
    'resources/subscribe': object(LEGACY),
    'resources/unsubscribe': object(LEGACY),
  },
  tool(plainSchema, plainSchema, {
    'execution?': object({ 'taskSupport?': oneOf('forbidden', 'optional', 'required') }),
  }),
  record,
);

/** Complete results of the modern era by method. */
export const MODERN_RESULTS = shapes(
  CACHED,
  MODERN,
  {
    'server/discover': object({
      supportedVersions: list(text),
      capabilities,
      'instructions?': text,
      ...CACHED,
    }),
    'subscriptions/listen': object({
      ...MODERN,
      _meta: object({ 'io.modelcontextprotocol/subscriptionId': id }),
    }),
  },
  tool(objectSchema, object({ '$schema?': text }), { 'execution?': never }),
  any,
);

const question = either(
  object({ method: isA('elicitation/create'), params: object({ message: text }) }),
  object({
    method: isA('sampling/createMessage'),
    params: object({ messages: list(record), maxTokens: any }),
  }),
  object({ method: isA('roots/list'), 'params?': record }),
);

/** A modern result that asks for input: no hints, and something to go on with (basic/patterns/mrtr). */
export const INPUT_REQUIRED: Shape = {
  allOf: [
    object({
      ...common,
      resultType: isA('input_required'),
      'inputRequests?': { type: 'object', additionalProperties: question },
      'requestState?': text,
      'ttlMs?': never,
      'cacheScope?': never,
    }),
    either({ required: ['inputRequests'] }, { required: ['requestState'] }),
  ],
};

const stamp = object({ 'io.modelcontextprotocol/subscriptionId?': id });
const levels = oneOf('debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency');
const stamped = object({ '_meta?': stamp });

/** `params` of what a server sends unasked; a notice that may come without params says so by `type`. */
export const NOTICES: Readonly<Record<string, Shape>> = {
  'notifications/tools/list_changed': stamped,
  'notifications/prompts/list_changed': stamped,
  'notifications/resources/list_changed': stamped,
  'notifications/resources/updated': object({ uri, '_meta?': stamp }),
  'notifications/progress': object({
    progressToken: id,
    progress: { type: 'number' },
    'total?': { type: 'number' },
    'message?': text,
  }),
  'notifications/message': object({ level: levels, 'logger?': text, data: any }),
  'notifications/cancelled': object({ 'requestId?': id, 'reason?': text }),
  'notifications/elicitation/complete': object({ elicitationId: text }),
  'notifications/subscriptions/acknowledged': object({
    _meta: object({ 'io.modelcontextprotocol/subscriptionId': id }),
    notifications: object({
      'toolsListChanged?': flag,
      'promptsListChanged?': flag,
      'resourcesListChanged?': flag,
      'resourceSubscriptions?': list(text),
    }),
  }),
};

/** An error object of either era. */
export const ERROR: Shape = object({ code: { type: 'integer' }, message: text, 'data?': any });

/** `data` that the specification demands for one code. */
export const ERROR_DATA: Readonly<Record<number, Shape>> = {
  [-32021]: object({ requiredCapabilities: record }),
  [-32022]: object({ supported: list(text), requested: text }),
};
