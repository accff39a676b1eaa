import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  keepCredential,
  keepSecret,
  scrub,
  withoutCredentials,
  withoutSecrets,
} from '../../../src/base/secrets.ts';

/** Keeps the texts as credentials while `work` runs. */
function withKept<T>(texts: readonly string[], work: () => T): T {
  const forget = texts.map(keepCredential);
  try {
    return work();
  } finally {
    for (const each of forget) {
      each();
    }
  }
}

describe('secrets', () => {
  it('are masked in the log wherever they stand, until they are forgotten', () => {
    const forget = keepSecret('first-secret-of-all');
    expect(withoutSecrets('a first-secret-of-all b=first-secret-of-all')).toBe('a [secret] b=[secret]');
    expect(withoutCredentials('a first-secret-of-all')).toBe('a first-secret-of-all');
    forget();
    forget();
    expect(withoutSecrets('a first-secret-of-all')).toBe('a first-secret-of-all');
  });

  it('are kept for as long as anybody keeps them', () => {
    const [one, other] = [keepSecret('kept-by-two-people'), keepSecret('kept-by-two-people')];
    one();
    one();
    expect(withoutSecrets('kept-by-two-people')).toBe('[secret]');
    other();
    expect(withoutSecrets('kept-by-two-people')).toBe('kept-by-two-people');
  });

  it('are masked side by side, and as JSON writes them', () => {
    const forget = ['with "quotes" inside', 'another-secret'].map(keepSecret);
    const line = JSON.stringify({ text: 'with "quotes" insideanother-secret' });
    expect(withoutSecrets(line)).toBe('{"text":"[secret][secret]"}');
    for (const each of forget) {
      each();
    }
  });

  it('of less than six characters are none', () => {
    keepSecret('five5');
    expect(withoutSecrets('five5')).toBe('five5');
  });
});

describe('credentials', () => {
  it('are known in the log when they were cut, from their beginning on, and among others that begin alike', () => {
    withKept(['header.alike.one-1111', 'header.alike.two-2222'], () => {
      expect(withoutSecrets('"header.alike.two-2222"')).toBe('"[secret]"');
      expect(withoutSecrets('header.alike…')).toBe('[secret]…');
      expect(withoutSecrets('header.a')).toBe('header.a');
      // What others say may begin alike for reasons of its own.
      expect(withoutCredentials('header.alike…')).toBe('header.alike…');
    });
  });

  const text = 'geheim/é+🎉 1234';
  it.each([
    ['as they are', text],
    ['in base64', Buffer.from(text).toString('base64')],
    ['in base64 for URLs', Buffer.from(text).toString('base64url')],
    ['in the middle of base64', Buffer.from(`me:${text}!`).toString('base64')],
    ['at another place in it', Buffer.from(`you:${text}`).toString('base64')],
    ['in a URL', encodeURIComponent(text)],
    ['in a URL in lower case', encodeURIComponent(text).replaceAll(/%../g, (code) => code.toLowerCase())],
    ['in JSON in a string', JSON.stringify({ text })],
  ])('are masked %s', (_how, form) => {
    withKept([text], () => {
      expect(withoutCredentials(`<${form}>`)).toMatch(/^<.{0,12}\[secret\].{0,5}>$/);
      expect(withoutSecrets(`<${form}>`)).toContain('[secret]');
    });
    expect(withoutCredentials(form)).toBe(form);
  });

  it('that could as well be a word or a number are masked in the log alone', () => {
    withKept(['password', '12345678'], () => {
      expect(withoutCredentials('password 12345678')).toBe('password 12345678');
      expect(withoutSecrets('password 12345678')).toBe('[secret] [secret]');
    });
  });

  it('are taken out of every string and name of a value, and nothing else is', () => {
    const value = JSON.parse(
      '{"a":["s3cret-s3cret",{"x s3cret-s3cret":1}],"__proto__":"s3cret-s3cret!","n":12,"keep":"s3cret-s3cret","deep":{"keep":"s3cret-s3cret"}}',
    );
    withKept(['s3cret-s3cret'], () => scrub(value, new Set(['keep'])));
    expect(JSON.stringify(value)).toBe(
      '{"a":["[secret]",{"x [secret]":1}],"__proto__":"[secret]!","n":12,"keep":"s3cret-s3cret","deep":{"keep":"[secret]"}}',
    );
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('are looked for however deep a value is', () => {
    let value: unknown = 's3cret-s3cret';
    for (let depth = 0; depth < 200_000; depth += 1) {
      value = [value];
    }
    withKept(['s3cret-s3cret'], () => scrub(value as object));
    while (Array.isArray(value)) {
      [value] = value;
    }
    expect(value).toBe('[secret]');
  });

  it('are found as a plain search finds them, and what holds none stays the very same', () => {
    const word = fc.string({ minLength: 8, maxLength: 12, unit: fc.constantFrom('a', 'b', '1', '-') });
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 4 }),
        fc.string({ unit: fc.constantFrom('a', 'b', '1', '-'), maxLength: 200 }),
        (words, hay) =>
          withKept(words, () => {
            const whole = words.filter((each) => !/^(?:[ab]+|1+)$/.test(each));
            const masked = withoutCredentials(hay);
            expect(masked.includes('[secret]')).toBe(whole.some((each) => hay.includes(each)));
            expect(whole.some((each) => masked.includes(each))).toBe(false);
          }),
      ),
    );
  });
});
