import { describe, expect, it } from 'vitest';
import { own } from '../../../src/base/json.ts';
import { CompiledSchemas } from '../../../src/vetting/compiled-schemas.ts';
import { growth } from '../../../src/vetting/growth.ts';
import { lint } from '../../../src/vetting/lint.ts';
import { server, tool } from './offers.ts';

/** What every object inherits, as a server may call its keywords, arguments, types and members. */
const INHERITED = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__'];

describe.each(INHERITED)('%s, which every object has', (name) => {
  const schema = JSON.parse(
    `{"type":"object","${name}":[1],"properties":{"${name}":{"type":"${name}","${name}":{}}},"required":["${name}"]}`,
  );
  const plain = tool({ name: 'read', inputSchema: { type: 'object' }, annotations: {} });
  const odd = tool(JSON.parse(`{"name":"read","inputSchema":${JSON.stringify(schema)},"${name}":{"a":1}}`));

  it('is no member of a table', () => {
    expect(own({ a: 1 }, name)).toBeUndefined();
  });

  it('is judged as any other word', () => {
    const read = (of: object) => lint([server('up', [of as typeof plain])]).map(({ id }) => id);
    expect(read(odd)).toEqual(read(JSON.parse(JSON.stringify(odd).replaceAll(`"${name}"`, '"other"'))));
  });

  it('may come and go', () => {
    expect(growth('tools', plain, odd).length).toBeGreaterThan(0);
    expect(growth('tools', odd, plain).length).toBeGreaterThan(0);
    expect(growth('tools', odd, odd)).toEqual([]);
  });

  it('is an argument like any other', () => {
    const schemas = new CompiledSchemas();
    const wants = JSON.parse(
      `{"type":"object","properties":{"${name}":{"type":"number"}},"required":["${name}"]}`,
    );
    expect(schemas.judge(wants, {}).fits).toBe(false);
    expect(schemas.judge(wants, JSON.parse(`{"${name}":1}`)).fits).toBe(true);
    expect(schemas.judge(wants, JSON.parse(`{"${name}":"1"}`)).fits).toBe(false);
  });
});
