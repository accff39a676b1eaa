import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';

/**
 * The result of a call for a person: texts as they are, everything else as one line in brackets that says what it is
 * and how large. Where there is no content, the structured result as JSON.
 */
export function readableResult(result: JsonObject): string {
  const { content, structuredContent } = result;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  if (blocks.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent, null, 2);
  }
  return blocks.map(readableBlock).join('\n');
}

function readableBlock(block: unknown): string {
  const type = stringAt(block, 'type');
  switch (type) {
    case 'text':
      return stringAt(block, 'text') ?? '';
    case 'image':
    case 'audio':
      return inBrackets(type, stringAt(block, 'mimeType'), sizeOf(stringAt(block, 'data')));
    case 'resource_link':
      return inBrackets(
        'link',
        stringAt(block, 'uri'),
        stringAt(block, 'title') ?? stringAt(block, 'name'),
        stringAt(block, 'mimeType'),
      );
    case 'resource':
      return readableResource(objectAt(block, 'resource'));
    default:
      return inBrackets(type ?? 'unknown content', isObject(block) ? sizeOfJson(block) : undefined);
  }
}

function readableResource(resource: JsonObject | undefined): string {
  const text = stringAt(resource, 'text');
  const head = inBrackets(
    'resource',
    stringAt(resource, 'uri'),
    stringAt(resource, 'mimeType'),
    sizeOf(stringAt(resource, 'blob')),
  );
  return text === undefined ? head : `${head}\n${text}`;
}

function inBrackets(what: string, ...about: readonly (string | undefined)[]): string {
  const known = about.filter((each) => each !== undefined && each !== '');
  return known.length === 0 ? `[${what}]` : `[${what}: ${known.join(', ')}]`;
}

/** Of what a base64 text stands for. */
function sizeOf(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : readableSize(Buffer.byteLength(base64, 'base64'));
}

function sizeOfJson(value: JsonObject): string {
  return `${readableSize(Buffer.byteLength(JSON.stringify(value)))} of JSON`;
}

const UNITS = ['KiB', 'MiB', 'GiB'] as const;

function readableSize(bytes: number): string {
  let size = bytes;
  let unit: string = 'bytes';
  for (const next of UNITS) {
    if (size < 1024) {
      break;
    }
    size /= 1024;
    unit = next;
  }
  return `${unit === 'bytes' ? size : size.toFixed(1)} ${unit}`;
}
