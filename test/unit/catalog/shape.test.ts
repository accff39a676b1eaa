import { describe, expect, it } from 'vitest';
import { shapeTools } from '../../../src/catalog/shape.ts';
import { buildCatalog } from '../../../src/catalog/snapshot.ts';
import { viewOf } from '../../../src/catalog/view.ts';
import { parse, upstream } from '../config/kit.ts';
import { copyOf, list, part, tool } from './parts.ts';

/** The settings `tools` of an upstream, read as a file would be. */
function settings(text: string) {
  return upstream(parse(`upstreams: {u: {url: "http://h/mcp", tools: ${text}}}`), 'u').tools;
}

const shaped = (text: string, raw: readonly unknown[]) => shapeTools(list('tools', raw), settings(text));
const names = (text: string, raw: readonly string[]) =>
  shaped(
    text,
    raw.map((name) => tool(name)),
  ).items.map((item) => item['name']);

describe('allow and deny', () => {
  it.each([
    ['{}', ['a', 'b']],
    ['{allow: [a]}', ['a']],
    ['{allow: []}', []],
    ['{deny: [a]}', ['b']],
    ['{allow: ["*"], deny: ["*"]}', []],
    ['{allow: ["?"], deny: [b]}', ['a']],
    ['{allow: [A]}', []],
  ])('%s leaves %j', (text, expected) => {
    expect(names(text, ['a', 'b'])).toEqual(expected);
  });

  it('takes names as the server has them, whatever they look like', () => {
    expect(names('{deny: ["__proto__", "a.*", "工*"]}', ['__proto__', 'a.b', 'ab', '工具'])).toEqual(['ab']);
  });
});

describe('describe and annotate', () => {
  const raw = JSON.parse(
    '{"x-first":1,"name":"act","description":"Theirs.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"vendor":{"a":1},"title":"Act"},"_meta":{"k":1}}',
  );

  it('replace the description in its place and add hints to those that are there; all else stays, in its order', () => {
    const [item] = shaped(
      '{describe: {act: Ours.}, annotate: {act: {readOnly: false, destructive: true, idempotent: false, openWorld: true, title: Do}}}',
      [raw],
    ).items;
    expect(JSON.stringify(item)).toBe(
      '{"x-first":1,"name":"act","description":"Ours.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"vendor":{"a":1},"title":"Do","destructiveHint":true,"idempotentHint":false,"openWorldHint":true},"_meta":{"k":1}}',
    );
  });

  it('give a tool what it did not have', () => {
    const [item] = shaped('{describe: {bare: Ours.}, annotate: {bare: {readOnly: true}}}', [
      tool('bare'),
    ]).items;
    expect(item).toEqual({ ...tool('bare'), description: 'Ours.', annotations: { readOnlyHint: true } });
  });

  it('leave other tools as the same objects, and the lists of the server as they were', () => {
    const read = list('tools', [copyOf(raw), tool('b')]);
    const result = shapeTools(read, settings('{describe: {act: Ours.}}'));
    expect(result.items[1]).toBe(read.items[1]);
    expect(read.items[0]).toEqual(raw);
  });

  it('annotations that are no object give way', () => {
    const read = list('tools', [tool('a')]);
    const odd = { ...read, items: [{ ...tool('a'), annotations: 'none' }] };
    expect(shapeTools(odd, settings('{annotate: {a: {readOnly: true}}}')).items[0]?.['annotations']).toEqual({
      readOnlyHint: true,
    });
  });

  it('a tool called like a member of every object is described only where that is said', () => {
    const items = shaped('{describe: {__proto__: Ours.}}', [tool('__proto__'), tool('constructor')]).items;
    expect(items.map((item) => item['description'])).toEqual(['Ours.', undefined]);
  });
});

describe('settings for a tool that the server does not have', () => {
  it.each([
    ['{rename: {gone: x}}', 'The configuration renames it (tools.rename), but'],
    ['{describe: {gone: x}}', 'The configuration describes it (tools.describe), but'],
    ['{annotate: {gone: {readOnly: true}}}', 'The configuration annotates it (tools.annotate), but'],
  ])('%s is a finding', (text, reason) => {
    const { findings } = shaped(text, [tool('here')]);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      id: 'tool.not-there',
      severity: 'warning',
      kind: 'tools',
      item: 'gone',
    });
    expect(findings[0]?.reason).toContain(reason);
  });

  it('is none where the tool is there, be it denied', () => {
    expect(shaped('{rename: {here: x}, deny: [here]}', [tool('here')]).findings).toEqual([]);
  });
});

describe('rename', () => {
  const NAMING = { separator: '.', maxLength: 128 };
  const built = (text: string, raw: readonly string[], more: readonly string[] = []) =>
    buildCatalog(
      [
        part(
          'u',
          {},
          {
            lists: {
              tools: shaped(
                text,
                raw.map((name) => tool(name)),
              ),
            },
          },
        ),
        part('v', { tools: more.map((name) => tool(name)) }),
      ],
      NAMING,
    );
  const listed = (catalog: ReturnType<typeof built>, style: 'dotted' | 'strict') =>
    viewOf(catalog, { style })
      .list('tools')
      .map(({ item }) => item['name']);
  const bare = (catalog: ReturnType<typeof built>) =>
    viewOf(catalog, { style: 'bare', upstream: 'u' })
      .list('tools')
      .map(({ item }) => item['name']);

  it('changes the name in every style; the route and the identity stay', () => {
    const catalog = built('{rename: {"create issue": new}}', ['create issue', 'other']);
    expect(listed(catalog, 'dotted')).toEqual(['u.new', 'u.other']);
    expect(listed(catalog, 'strict')).toEqual(['u__new', 'u__other']);
    expect(bare(catalog)).toEqual(['new', 'other']);
    expect(catalog.tool('u.new')).toMatchObject({ upstream: 'u', original: 'create issue' });
    expect(viewOf(catalog, { style: 'bare', upstream: 'u' }).find('tools', 'new')?.original).toBe(
      'create issue',
    );
    expect(catalog.toolOf('u', 'create issue')).toBe(catalog.tool('u.new'));
    expect(catalog.findings).toEqual([]);
  });

  it('the old names lead nowhere', () => {
    const catalog = built('{rename: {old: new}}', ['old']);
    expect(['u.old', 'u__old', 'old', 'new'].map((name) => catalog.tool(name))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(viewOf(catalog, { style: 'bare', upstream: 'u' }).find('tools', 'old')).toBeUndefined();
  });

  it('two tools can change names with one another', () => {
    const catalog = built('{rename: {a: b, b: a}}', ['a', 'b']);
    expect(catalog.tool('u.a')?.original).toBe('b');
    expect(catalog.tool('u.b')?.original).toBe('a');
    expect(bare(catalog)).toEqual(['b', 'a']);
  });

  it('where it makes two of one name both get a digest in every style, and a finding', () => {
    const catalog = built('{rename: {a: same, b: same}}', ['a', 'b', 'c'], ['same']);
    expect(listed(catalog, 'dotted')).toEqual([
      expect.stringMatching(/^u\.same_[a-z2-7]{8}$/),
      expect.stringMatching(/^u\.same_[a-z2-7]{8}$/),
      'u.c',
      'v.same',
    ]);
    expect(bare(catalog)).toEqual([
      expect.stringMatching(/^same_[a-z2-7]{8}$/),
      expect.stringMatching(/^same_[a-z2-7]{8}$/),
      'c',
    ]);
    expect(new Set(bare(catalog)).size).toBe(3);
    const clashes = catalog.findings.filter(({ id }) => id === 'name.collided');
    expect(clashes.map(({ item }) => item)).toEqual(['a', 'b']);
    expect(
      built('{rename: {b: same, a: same}}', ['b', 'a']).tool(String(listed(catalog, 'dotted')[0]))?.original,
    ).toBe('a');
  });

  it('onto the name of another tool: that one is not pushed aside, both are marked', () => {
    const catalog = built('{rename: {a: b}}', ['a', 'b']);
    expect(catalog.tool('u.b')).toBeUndefined();
    expect(bare(catalog)).toEqual([expect.stringMatching(/^b_/), expect.stringMatching(/^b_/)]);
    for (const name of bare(catalog)) {
      expect(viewOf(catalog, { style: 'bare', upstream: 'u' }).find('tools', String(name))).toBeDefined();
    }
  });

  it('a prompt of the same name keeps it', () => {
    const { prompts } = part('u', { prompts: [{ name: 'old' }] }).lists;
    const catalog = buildCatalog(
      [
        part(
          'u',
          {},
          { lists: { tools: shaped('{rename: {old: new}}', [tool('old')]), ...(prompts && { prompts }) } },
        ),
      ],
      NAMING,
    );
    expect(catalog.prompt('u.old')?.original).toBe('old');
    expect(catalog.prompt('u.new')).toBeUndefined();
  });

  it('is a change that clients notice, and the same again is none', () => {
    const before = built('{}', ['a']);
    const raw = [tool('a')];
    const again = (text: string) =>
      buildCatalog(
        [part('u', {}, { lists: { tools: shaped(text, raw) } }), part('v', { tools: [] })],
        NAMING,
        before,
      );
    expect(again('{rename: {a: b}}').revision).not.toBe(before.revision);
    expect(again('{}').revision).toBe(before.revision);
  });
});
