import { describe, expect, it } from 'vitest';
import { createLog, LOG_LEVELS } from '../../../src/base/log.ts';
import { RequestLog } from '../../../src/front/request-log.ts';

describe('the log of a request', () => {
  it('is made once, for its first line, and writes what a child of the whole log would', () => {
    const lines: unknown[] = [];
    const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
    const whole = createLog({ level: 'trace', readable: false, destination });
    let made = 0;
    const log = new RequestLog(() => {
      made += 1;
      return whole.child({ reqId: 'req-1' });
    });
    expect(made).toBe(0);
    for (const level of LOG_LEVELS) {
      log[level]({ n: 1 }, `at ${level}`);
    }
    log.child({ upstream: 'u' }).info('below');
    expect(made).toBe(1);
    const written = LOG_LEVELS.filter((level) => level !== 'silent');
    const told = [...written.map((level) => ({ reqId: 'req-1', n: 1, msg: `at ${level}` }))];
    expect(lines).toMatchObject([...told, { reqId: 'req-1', upstream: 'u', msg: 'below' }]);
    log.level = 'error';
    log.info('not this');
    expect([log.level, whole.level, lines.length]).toEqual(['error', 'trace', told.length + 1]);
  });
});
