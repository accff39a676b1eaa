import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/base/errors.ts';
import { announced, judgeRefusal, retryAfter } from '../../../src/upstream/http-answer.ts';

const error = (id: unknown, code = -32000, message = 'Bad Request') =>
  JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } });

function judge(status: number, body: string, sentSession = false, id: string | number | undefined = 7) {
  const judged = judgeRefusal({ upstream: 'up', status, headers: {}, body, id, sentSession });
  return judged instanceof GatewayError ? judged.code : judged;
}

describe('what an answer announces', () => {
  it.each([
    [200, 'application/json', 'json'],
    [200, 'APPLICATION/JSON ; charset=utf-8', 'json'],
    [200, undefined, 'json'],
    [200, '', 'json'],
    [201, 'application/json', 'json'],
    [200, 'text/event-stream;charset=utf-8', 'events'],
    [200, 'text/html', 'foreign'],
    [200, 'application/jsonp', 'foreign'],
    [202, 'text/html', 'nothing'],
    [204, undefined, 'nothing'],
    [304, undefined, 'refusal'],
    [404, 'text/event-stream', 'refusal'],
    [500, 'application/json', 'refusal'],
  ])('%i %s: %s', (status, type, expected) => {
    expect(announced(status, type === undefined ? {} : { 'content-type': type })).toBe(expected);
  });
});

describe('judging a refusal', () => {
  const answer = (code = -32000, message = 'Bad Request') => ({
    jsonrpc: '2.0',
    id: 7,
    error: { code, message },
  });

  it.each([
    ['an error of the request', 400, error(7), answer()],
    ['an error of nobody', 400, error(null), answer()],
    ['an error without id', 400, error(undefined), answer()],
    ['an unknown method of a modern server', 404, error(7, -32601), answer(-32601)],
    ['an internal error of the request', 500, error(7, -32603), answer(-32603)],
    ['an internal error of nobody', 500, error(null), 'UPSTREAM_FAILED'],
    ['an error of somebody else', 400, error(8), 'UPSTREAM_STATUS'],
    ['an error of somebody else by type', 400, error('7'), 'UPSTREAM_STATUS'],
    ['a page', 400, '<html>', 'UPSTREAM_STATUS'],
    ['JSON that is no error', 400, '{"error":"invalid_token"}', 'UPSTREAM_STATUS'],
    ['sign-in, whatever the body', 401, error(7), 'UPSTREAM_AUTH'],
    ['sign-in, whatever the body', 403, error(null), 'UPSTREAM_AUTH'],
    ['load, whatever the body', 429, error(7), 'UPSTREAM_RATE_LIMITED'],
  ])('%s (%i)', (_title, status, body, expected) => {
    expect(judge(status, body)).toEqual(expected);
  });

  it.each([
    ['any 404', 404, '', 'UPSTREAM_SESSION'],
    ['a 404 of nobody', 404, error(null, -32001), 'UPSTREAM_SESSION'],
    ['a 404 of the request', 404, error(7, -32001), 'UPSTREAM_SESSION'],
    ['a 404 for the method', 404, error(7, -32601), answer(-32601)],
    ['a 400 that names the session', 400, error(null, -32000, 'No valid Session ID'), 'UPSTREAM_SESSION'],
    ['a 400 about something else', 400, error(null), answer()],
    [
      'a 400 of the tool itself',
      400,
      error(7, -32602, 'session_id is missing'),
      answer(-32602, 'session_id is missing'),
    ],
    ['sign-in first', 401, 'session', 'UPSTREAM_AUTH'],
  ])('C-039: with a session, %s (%i)', (_title, status, body, expected) => {
    expect(judge(status, body, true)).toEqual(expected);
  });

  it('of a notification is never an answer', () => {
    const refusal = {
      upstream: 'up',
      status: 400,
      headers: {},
      body: error(null),
      id: undefined,
      sentSession: false,
    };
    expect(judgeRefusal(refusal)).toMatchObject({ code: 'UPSTREAM_STATUS', data: { status: 400 } });
  });

  it('keeps a foreign text short and on one line, in the log alone', () => {
    const headers = { 'content-type': 'text/html', 'www-authenticate': 'Bearer' };
    const body = `<html>\n\u001b[31m${'x'.repeat(5_000)}`;
    const judged = judgeRefusal({
      upstream: 'up',
      status: 401,
      headers,
      body,
      id: undefined,
      sentSession: false,
    });
    expect(judged.logged).toMatch(/^status 401; text\/html; challenge: Bearer; body: <html> \[31mx+…$/);
    expect(judged.logged?.length).toBeLessThan(400);
    expect(judged.message).not.toContain('html');
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    ['5', 5_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:00:09 GMT', 9_000],
    ['Thu, 01 Jan 2015 00:00:09 GMT', 0],
    ['soon', undefined],
    ['-1x', undefined],
    [undefined, undefined],
  ])('%s', (header, expected) => {
    expect(retryAfter(header, now)).toBe(expected);
  });
});
