import { describe, expect, it } from 'vitest';
import { keepSecret, withoutSecrets } from '../../../src/base/secrets.ts';

describe('secrets that come up at run time', () => {
  it('are masked wherever they stand, until they are forgotten', () => {
    const forget = keepSecret('first-secret-of-all');
    expect(withoutSecrets('a first-secret-of-all b=first-secret-of-all')).toBe('a [secret] b=[secret]');
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

  it('are known when they were cut, from their beginning on, and among others that begin alike', () => {
    const forget = ['header.alike.one-1111', 'header.alike.two-2222'].map(keepSecret);
    expect(withoutSecrets('"header.alike.two-2222"')).toBe('"[secret]"');
    expect(withoutSecrets('header.alike…')).toBe('[secret]…');
    expect(withoutSecrets('header.a')).toBe('header.a');
    for (const each of forget) {
      each();
    }
  });

  it('are masked side by side, and as JSON writes them', () => {
    const forget = ['with "quotes" inside', 'another-secret'].map(keepSecret);
    const line = JSON.stringify({ text: 'with "quotes" insideanother-secret' });
    expect(withoutSecrets(line)).toBe('{"text":"[secret][secret]"}');
    for (const each of forget) {
      each();
    }
  });

  it('of less than eight signs are none', () => {
    keepSecret('seven77');
    expect(withoutSecrets('seven77')).toBe('seven77');
  });
});
