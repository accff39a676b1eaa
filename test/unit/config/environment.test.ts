// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { describe, expect, it } from 'vitest';
import { parse, upstream } from './kit.ts';

describe('headers and variables', () => {
  const read = (headers: string, env = {}) => {
    const found = upstream(parse(`upstreams: {a: {url: "http://h", headers: ${headers}}}`, { env }), 'a');
    return found.kind === 'http' ? found.headers : undefined;
  };

  it('a header that is null or empty is not sent', () => {
    expect(read('{A: null, B: "", C: "  ", D: x, E: }')).toEqual({ D: 'x' });
  });

  it('C-079: nothing is sent with an empty secret', () => {
    const headers = '{Authorization: "Bearer ${env:T}", X-Api-Key: "${env:T}", X-Kind: "Bearer"}';
    expect(read(headers, { T: '' })).toEqual({ 'X-Kind': 'Bearer' });
    expect(read(headers, { T: 't' })).toEqual({
      Authorization: 'Bearer t',
      'X-Api-Key': 't',
      'X-Kind': 'Bearer',
    });
  });

  it('a variable that is null is left out, an empty one is kept', () => {
    const found = upstream(parse('upstreams: {a: {command: x, env: {A: null, B: "", C: ~, D: x}}}'), 'a');
    expect(found.kind === 'stdio' && found.env).toEqual({ B: '', D: 'x' });
  });

  it('"__proto__" and "constructor" are variables like any other', () => {
    const text = 'upstreams: {a: {command: x, env: {__proto__: p, constructor: c}}}';
    const found = upstream(parse(text), 'a');
    expect(found.kind === 'stdio' && Object.entries(found.env)).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ]);
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('p');
  });
});
