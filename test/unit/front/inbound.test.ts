import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { claimedVersion, envelopeFault, parseJson, sortInbound } from '../../../src/front/inbound.ts';
import { META } from '../../../src/protocol/meta.ts';

const MODERN = '2026-07-28';
const MOST = 1024 * 1024;
const MARK = '\ufeff';

const codeOf = (run: () => unknown) => {
  try {
    return run();
  } catch (thrown) {
    return thrown instanceof GatewayError ? thrown.code : thrown;
  }
};

describe('a byte order mark before a message', () => {
  it.each<[string, (text: string) => string | Buffer]>([
    ['in a line', (text) => text],
    ['in a body', (text) => Buffer.from(text)],
  ])('%s is passed over', (_where, given) => {
    const long = 'x'.repeat(20_000);
    expect(parseJson(given(`${MARK}{"a":1}`), MOST)).toEqual({ a: 1 });
    expect(parseJson(given(`${MARK}{"params":{"arguments":{"long":"${long}"}}}`), MOST)).toMatchObject({
      params: { arguments: { long } },
    });
  });

  it.each([`${MARK}${MARK}{}`, MARK, `{}${MARK}`, `${MARK}{"a":`, MARK.repeat(100_000)])(
    'is one, and before it: %#',
    (text) => {
      expect(codeOf(() => parseJson(text, MOST))).toBe('PARSE_FAILED');
      expect(codeOf(() => parseJson(Buffer.from(text), MOST))).toBe('PARSE_FAILED');
    },
  );

  it('does not let through what costs too much', () => {
    const deep = `${MARK}${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    expect(codeOf(() => parseJson(deep, MOST))).toBe('BODY_TOO_LARGE');
  });
});

describe('a version in _meta', () => {
  const asking = (method: string, version: unknown) => ({
    jsonrpc: '2.0' as const,
    id: 1,
    method,
    params: { _meta: { [META.version]: version } },
  });

  it.each<[string, unknown, boolean, string | undefined]>([
    ['tools/list', MODERN, false, MODERN],
    ['tools/list', MODERN, true, MODERN],
    ['tools/list', '2099-01-01', true, '2099-01-01'],
    ['tools/list', '2025-11-25', true, undefined],
    ['tools/list', '2025-11-25', false, '2025-11-25'],
    ['initialize', '2025-11-25', false, undefined],
    ['initialize', MODERN, false, MODERN],
    ['tools/list', 20_260_728, false, undefined],
    ['tools/list', undefined, false, undefined],
  ])('%s with %j, in a session: %j', (method, version, hasSession, claimed) => {
    expect(claimedVersion(asking(method, version), hasSession)).toBe(claimed);
  });

  it('that is a legacy one opens a session with initialize, whatever headers say', () => {
    expect(sortInbound(asking('initialize', '2025-11-25'), {}).kind).toBe('initialize');
  });
});

describe('a log level in _meta', () => {
  const fault = (level: unknown) =>
    envelopeFault(
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { _meta: { [META.clientCapabilities]: {}, [META.logLevel]: level } },
      },
      MODERN,
    )?.row.rpc;

  it.each(['debug', 'emergency', undefined, null])('%j is fine', (level) => {
    expect(fault(level)).toBeUndefined();
  });

  it.each(['verbose', 'DEBUG', '', 5, {}, []])('%j is refused', (level) => {
    expect(fault(level)).toBe(-32602);
  });
});
