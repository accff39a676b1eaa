import { CALL, DESCRIBE, SEARCH } from '../catalog/search-names.ts';
import type { Item } from '../protocol/model.ts';
import type { Entrance } from './context.ts';

/** Most tools in one answer, and how many there are without a wish. */
export const MOST_FOUND = 50;
export const USUALLY_FOUND = 10;
/** Most tools that are described at once. */
export const MOST_DESCRIBED = 20;

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/**
 * The gateway's own tools where not every tool is listed. What they say of themselves is true for everybody at any time;
 * what a caller needs to know of today is in their results.
 */
export const GATEWAY_TOOLS: readonly Item[] = [
  {
    name: SEARCH,
    title: 'Search tools',
    description:
      'Finds tools by what they do. Many more tools can be used here than are listed: search before concluding that ' +
      'something cannot be done. Gives names, short descriptions and argument names (? marks optional ones), the best ' +
      `first. Whatever is found can be called with ${CALL}. Without a query: the servers there are, and their tools.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description:
            'What the tool should do, in a few words: an action, a thing, and the product if it matters.',
        },
        server: { type: 'string', description: 'Only tools of this server.' },
        readOnly: {
          type: 'boolean',
          description: 'Only tools that change nothing (true), or that may (false).',
        },
        destructive: {
          type: 'boolean',
          description: 'Only tools that may delete or overwrite (true), or that do not (false).',
        },
        limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, default: USUALLY_FOUND },
        offset: {
          type: 'integer',
          minimum: 0,
          default: 0,
          description: 'How many of the best to leave out.',
        },
        schemas: {
          type: 'boolean',
          default: false,
          description: 'Give whole definitions with input schemas.',
        },
      },
    },
    annotations: READS,
  },
  {
    name: DESCRIBE,
    title: 'Describe tools',
    description: `Gives the whole definitions of tools by name: descriptions and input schemas, as needed for ${CALL}.`,
    inputSchema: {
      type: 'object',
      properties: {
        names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_DESCRIBED },
      },
      required: ['names'],
    },
    annotations: READS,
  },
  {
    name: CALL,
    title: 'Call a tool',
    description: `Calls a tool by its name, with arguments by its input schema, and gives its result. For tools that ${SEARCH} found and that cannot be called directly.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name, as it was found.' },
        arguments: { type: 'object', additionalProperties: true },
      },
      required: ['name'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
];

/** Whether the gateway's own tools are served there. */
export function isSearched({ listing }: Pick<Entrance, 'listing'>): boolean {
  return listing !== undefined && (listing.mode !== 'list' || listing.maxTokens > 0);
}
