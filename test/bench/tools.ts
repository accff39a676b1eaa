/** Definitions like those of real servers: a page of text and a nested schema each; the first one echoes, `structured`: as it promises to. */
export function toolDefinitions(count: number, structured = false): readonly object[] {
  const echo = structured ? { ...ECHO, outputSchema: ECHO.inputSchema } : ECHO;
  return Array.from({ length: count }, (_, at) => (at === 0 ? echo : lookup(at)));
}

const ECHO = {
  name: 'echo',
  description: 'Gives the text back as it is.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

function lookup(at: number) {
  const condition = {
    type: 'object',
    properties: {
      column: { type: 'string', description: 'Name of the column' },
      relation: { type: 'string', enum: ['equal', 'below', 'above', 'like'] },
      operand: { type: 'string' },
    },
    required: ['column', 'relation', 'operand'],
  };
  return {
    name: `find_orders_${at}`,
    description: `Looks up the orders of branch ${at} that meet every condition, the latest first, one page at a time.`,
    inputSchema: {
      type: 'object',
      properties: {
        words: {
          type: 'string',
          maxLength: 500,
          description: 'Words that the order has to hold, in any order',
        },
        conditions: {
          type: 'array',
          items: condition,
          description: 'Conditions, all of which have to be met',
        },
        page: { type: 'integer', minimum: 1, default: 1, description: 'Which page, from 1' },
        order: { type: 'string', enum: ['latest', 'earliest', 'largest'] },
      },
      required: ['words'],
    },
  };
}

/** The string at a path of members; undefined where there is none. */
export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  let at = value;
  for (const member of path) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[member] : undefined;
  }
  return typeof at === 'string' ? at : undefined;
}

/** About so many bytes as results of real tools have them: quotes, line breaks, characters beyond ASCII. */
export function sampleText(bytes: number): string {
  const unit =
    'Order 4711: "blue, größe M"\tpath C:\\orders\\4711, total 12.50 € — shipped.\nNothing else in this row. ';
  const size = Buffer.byteLength(unit);
  return unit.repeat(Math.floor(bytes / size)) + '.'.repeat(bytes % size);
}
