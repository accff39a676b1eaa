import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../../src/base/exact-number.ts';
import { createLog } from '../../../src/base/log.ts';
import { LongText } from '../../../src/base/long-text.ts';
import type { Entry } from '../../../src/catalog/snapshot.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { readJsonBytes } from '../../../src/protocol/json-bytes.ts';
import { checks } from '../../../src/vetting/checks.ts';
import type { ResultFlag } from '../../../src/vetting/results.ts';
import { parse } from '../config/kit.ts';

const SECRET = `ghp_${'aB3dE5gH7jK9mN1pQ3rS'.repeat(2).slice(0, 36)}`;
const STACK = 'no\n    at run (/srv/app/run.js:1:2)\n    at call (/srv/app/call.js:3:4)';
const of = { upstream: 'up', original: 'tasks/get' };

function results(yaml: string) {
  let settings: Settings = parse(yaml).settings;
  const upstream = () => ({ validate: { arguments: 'enforce', results: 'warn' } }) as const;
  const log = createLog({ level: 'silent', readable: false });
  const { results: check } = checks({ upstream, settings: () => settings, log });
  return { check, become: (text: string) => (settings = parse(text).settings) };
}

const STRICT = 'upstreams: {up: {command: a, vetting: {credentials: mask, errorDetails: trim}}}';

describe('what a server says of a task', () => {
  const { check } = results(STRICT);

  it.each([
    [
      'failed',
      { status: 'failed', statusMessage: STACK },
      { status: 'failed', statusMessage: 'no\n[stack trace]' },
    ],
    [
      'whose error says why',
      { status: 'failed', error: { code: 1, message: STACK } },
      { status: 'failed', error: { code: 1, message: 'no\n[stack trace]' } },
    ],
    [
      'whose result is an error',
      { status: 'completed', result: { content: [{ type: 'text', text: STACK }], isError: true } },
      {
        status: 'completed',
        result: { content: [{ type: 'text', text: 'no\n[stack trace]' }], isError: true },
      },
    ],
  ])('%s: details are trimmed, and nothing is added', (_, given, expected) => {
    const { result, flags } = check.task(of, given);
    expect(result).toEqual(expected);
    expect(flags).toEqual(['leak_seen']);
  });

  it('numbers go on as they came, whatever is done with the texts', () => {
    const number = new ExactNumber('9007199254740993');
    for (const isError of [false, true]) {
      const { result } = check.texts(of, {
        content: [],
        structuredContent: { number, text: SECRET },
        isError,
      });
      expect(JSON.stringify(result)).toContain('"number":9007199254740993,"text":"[secret]"');
    }
  });

  it('that went well may hold a path, and no credential', () => {
    const { result, flags } = check.task(of, {
      status: 'completed',
      result: { text: `${SECRET} in /srv/app/a` },
    });
    expect(result).toEqual({ status: 'completed', result: { text: '[secret] in /srv/app/a' } });
    expect(flags).toEqual(['credential_seen']);
  });
});

describe('the error of a server', () => {
  it('is the same object where nothing is found', () => {
    const error = { code: -32000, message: 'no', data: { at: 'home' } };
    expect(results(STRICT).check.error(of, error)).toEqual({ error, flags: [] });
    expect(results(STRICT).check.error(of, error).error).toBe(error);
  });

  it('keeps the data that programs act on, such as a link', () => {
    const data = { elicitations: [{ mode: 'url', url: 'http://localhost:9/sign-in', elicitationId: '1' }] };
    const error = { code: -32042, message: 'No /srv/app/token', data };
    expect(results(STRICT).check.error(of, error).error).toEqual({ ...error, message: 'No [path]' });
    expect(results(STRICT).check.error(of, { ...error, code: -32000 }).error.data).not.toEqual(data);
  });

  it('gives nothing away once its server is taken out of the configuration', () => {
    const { check, become } = results('upstreams: {up: {command: a}}');
    const error = { code: -32000, message: STACK };
    expect(check.error(of, error).error.message).toBe(STACK);
    become('upstreams: {}');
    expect(check.error(of, error).error.message).toBe('no\n[stack trace]');
  });
});

describe('a result of a tool with an output schema, whose long text nobody has read', () => {
  const text = 'größe "M"\n'.repeat(2_000);
  const { check } = results('upstreams: {up: {command: a}}');

  it.each<[string, object, readonly ResultFlag[]]>([
    ['fits', { type: 'string' }, []],
    ['fits by what is in it', { type: 'string', minLength: 20_000, pattern: '^größe' }, []],
    ['is too long', { type: 'string', maxLength: 19_999 }, ['result_invalid']],
    ['is no number', { type: 'number' }, ['result_invalid']],
  ])('%s, as if it was read', (_, schema, expected) => {
    const outputSchema = { type: 'object', properties: { text: schema } };
    const tool = { upstream: 'up', original: 'get', item: { name: 'get', outputSchema } } as unknown as Entry;
    const given = { content: [], structuredContent: { text } };
    const read = readJsonBytes(Buffer.from(JSON.stringify({ result: given })), 8_388_608);
    const unread = (read.kind === 'value' ? read.value : {}) as { result: typeof given };
    expect(unread.result.structuredContent.text).toBeInstanceOf(LongText);
    for (const result of [given, unread.result]) {
      const judged = check.tool({ tool, name: 'get', held: 'enforce', sent: {} }, result);
      expect(judged.flags).toEqual(expected);
      const passed = expected.length === 0;
      expect(judged.result['isError']).toBe(passed ? undefined : true);
      expect(judged.result['structuredContent']).toBe(passed ? result.structuredContent : undefined);
    }
  });
});
