import { describe, expect, it } from 'vitest';
import { detailsIn } from '../../../src/vetting/error-details.ts';

const JS = `TypeError: x is not a function
    at handle (/srv/app/dist/tools.js:10:15)
    at async Server.call (file:///srv/app/node_modules/sdk/server.js:201:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)`;
const PYTHON = `Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/server.py", line 88, in call
    return await tool(**arguments)
  File "/home/svc/tool.py", line 3, in tool
    raise ValueError("no such row")
ValueError: no such row`;
const JAVA = `java.lang.IllegalStateException: closed
\tat com.example.Pool.take(Pool.java:41)
\tat com.example.Tool.run(Tool.java:12)`;
const GO = `panic: boom
goroutine 7 [running]:
main.handle(0xc000010000)
\t/build/main.go:31 +0x1d`;

type Row = readonly [text: string, found: readonly string[], trimmed: string];

describe('what an error gives away', () => {
  it.each<Row>([
    [JS, ['stack trace'], 'TypeError: x is not a function\n[stack trace]'],
    [PYTHON, ['stack trace'], '[stack trace]\nValueError: no such row'],
    [JAVA, ['stack trace'], 'java.lang.IllegalStateException: closed\n[stack trace]'],
    [GO, ['stack trace'], 'panic: boom\n[stack trace]'],
    [
      "ENOENT: no such file or directory, open '/home/svc/data/a b'",
      ['path'],
      "ENOENT: no such file or directory, open '[path] b'",
    ],
    ['Cannot read C:\\Users\\svc\\secret.txt.', ['path'], 'Cannot read [path]'],
    ['connect ECONNREFUSED 10.0.3.17:5432', ['internal host'], 'connect ECONNREFUSED [internal host]'],
    ['connect ECONNREFUSED 127.0.0.1:8080', ['internal host'], 'connect ECONNREFUSED [internal host]'],
    [
      'getaddrinfo ENOTFOUND db.prod.svc.cluster.local',
      ['internal host'],
      'getaddrinfo ENOTFOUND [internal host]',
    ],
    [
      'upstream https://billing.corp:8443/v1 said no',
      ['internal host'],
      'upstream https://[internal host]/v1 said no',
    ],
    ['SQLSTATE[42S02]: Base table not found: users', ['SQL'], '[SQL]'],
    ['error: syntax error at or near "FORM"', ['SQL'], 'error: [SQL]'],
    ['failed: SELECT id, mail FROM users WHERE id = 7', ['SQL'], 'failed: [SQL]'],
    ['SQLITE_CONSTRAINT: UNIQUE constraint failed: notes.id', ['SQL'], '[SQL]'],
  ])('%s', (text, found, trimmed) => {
    const details = detailsIn(text, '');
    expect([...details.found]).toEqual(found);
    expect(details.trimmed).toBe(trimmed);
  });
});

/** What plain errors say: nothing of it is about the inside of a server. */
it.each([
  'No user with that name. Look for one with list_users.',
  'The file /data is not there.',
  'Rate limit of https://api.example.com/v1 reached; try again in 30 s.',
  'Select a project from the list first, then update it and set its owner.',
  'Meet me at the station at 10:15.',
  'Version 10.2.0.1 is not supported, use 192.0.2.1 or later.',
  'at least one of "a" and "b" is required',
  'Use and/or, input/output and 1/2.',
  'The local time is 10:00; internal errors are rare.',
  'Expected "}" at line 3, column 7',
])('nothing: %s', (text) => {
  expect([...detailsIn(text, '').found]).toEqual([]);
  expect(detailsIn(text, '').trimmed).toBe(text);
});

it('what the caller named itself is no leak', () => {
  const sent = JSON.stringify({ path: '/home/ada/notes.txt', host: '10.0.0.5:80', query: 'SELECT a FROM b' });
  const text = 'cannot open /home/ada/notes.txt on 10.0.0.5:80: /home/svc/cache';
  const details = detailsIn(text, sent);
  expect([...details.found]).toEqual(['path']);
  expect(details.trimmed).toBe('cannot open /home/ada/notes.txt on 10.0.0.5:80: [path]');
});

it('takes time by the length of a text, and looks only so far', () => {
  for (const text of [
    'at '.repeat(500_000),
    '/home/'.repeat(300_000),
    'SELECT '.repeat(200_000),
    'a.'.repeat(500_000),
    '\n    at f (a:1:1)'.repeat(50_000),
  ]) {
    const began = process.cpuUsage().user;
    detailsIn(text, '');
    expect(process.cpuUsage().user - began).toBeLessThan(2e6);
  }
  const late = `${'x '.repeat(20_000)}/home/svc/a`;
  expect(detailsIn(late, '').trimmed).toBe(late);
});
