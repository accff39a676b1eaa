import { describe, expect, it } from 'vitest';
import { viewFilter } from '../../../src/access/view-filter.ts';
import { person, policyOf, subject } from './people.ts';

const allows = (pattern: string, text: string) =>
  policyOf(`[{who: {anyone: true}, allow: [${JSON.stringify(pattern)}]}]`)(person()).shows(subject(text));

describe('a pattern', () => {
  it.each([
    // <upstream>.<original>, whatever stands in the original
    ['files.read', 'tool files.read', true],
    ['files.read', 'tool web.read', false],
    ['files.read', 'tool files.read.all', false],
    ['files.a.b', 'tool files.a.b', true],
    ['files.a.*', 'tool files.a.b', true],
    ['files.a.*', 'tool files.ab', false],
    ['*.read', 'tool files.read', true],
    ['*.read', 'tool files.deep.read', true],
    ['fil*', 'tool files.anything', true],
    ['*', 'tool files.anything', true],
    ['files.re?d', 'tool files.read', true],
    ['files.*delete*', 'tool files.un-delete-it', true],
    ['files.a:b', 'tool files.a:b', true],
    ['files.a*b', 'tool files.a*b', true],
    ['files.ünïcode', 'tool files.ünïcode', true],
    ['files.工具*', 'tool files.工具箱', true],
    ['files.?', 'tool files.😀', true],
    ['files.__proto__', 'tool files.__proto__', true],
    ['files.__proto__', 'tool files.constructor', false],
    ['files.constructor', 'tool files.constructor', true],
    ['files..', 'tool files..', true],
    // kinds
    ['files.x', 'prompt files.x', true],
    ['tool:files.x', 'tool files.x', true],
    ['tool:files.x', 'prompt files.x', false],
    ['tool:files.x', 'resource files.x', false],
    ['prompt:files.*', 'prompt files.x', true],
    ['prompt:files.*', 'tool files.x', false],
    ['resource:files.*', 'resource files.file:///a', true],
    ['resource:files.*', 'template files.file:///{path}', true],
    ['resource:files.*', 'tool files.x', false],
    ['tool:*', 'tool files.x', true],
    ['tool:*', 'prompt files.x', false],
    ['files.tool:x', 'tool files.tool:x', true],
    // resources are named by their URIs, templates by their texts
    ['files.file:///data/*', 'resource files.file:///data/a.txt', true],
    ['files.file:///data/*', 'resource files.file:///etc/passwd', false],
    ['files.file:///{path}', 'template files.file:///{path}', true],
    ['files.file:///{path}', 'resource files.file:///data', false],
    ['resource:web.https://h/x?q=1', 'resource web.https://h/x?q=1', true],
    // methods of extensions have no prefix of their own
    ['files.*', 'method files.skills/list', true],
    ['files.skills/*', 'method files.skills/list', true],
    ['files.read_*', 'method files.skills/list', false],
    ['tool:files.*', 'method files.skills/list', false],
    // not regular expressions
    ['files.r.ad', 'tool files.read', false],
    ['files.(read|write)', 'tool files.read', false],
    ['files.[a-z]', 'tool files.a', false],
  ])('%s and %s: %s', (pattern, text, expected) => {
    expect(allows(pattern, text)).toBe(expected);
  });

  it('C-002: is about the pair, never about an exposed name that looks alike', () => {
    // In strict names both would be files__read: `files` with `read`, and `files_` cannot be told from `_read` by cutting.
    expect(allows('files.read', 'tool files._read')).toBe(false);
    expect(allows('files_._read', 'tool files.read')).toBe(false);
  });

  it('names of any length are judged', () => {
    const long = 'x'.repeat(8_000);
    expect(allows('files.*', `tool files.${long}`)).toBe(true);
    expect(allows(`files.${long}`, `tool files.${long}`)).toBe(true);
    expect(allows(`files.${long}`, `tool files.${long}x`)).toBe(false);
  });

  it('a pattern that would never end as a regular expression comes to an end', () => {
    const bomb = `files.${'*a'.repeat(300)}*!`;
    expect(allows(bomb, `tool files.${'a'.repeat(8_000)}`)).toBe(false);
  });
});

it('many rules over many items: each server is judged by the patterns that can reach it', () => {
  const groups = Array.from({ length: 20 }, (_, at) => at);
  const rules = groups.map(
    (at) =>
      `{who: {anyone: true}, deny: ["u${at}.drop_*", "*.secret_${at}_*"], allow: ["u${at}.*_${at}", "tool:u${at}.x*y*z"]}`,
  );
  const upstreams = groups.map((at) => `u${at}: {url: "http://h${at}/mcp"}`);
  const access = policyOf(`[${rules.join(', ')}]`, `{${upstreams.join(', ')}}`)(person());
  const items = Array.from({ length: 10_000 }, (_, at) => subject(`tool u${at % 20}.tool_${at}_${at % 40}`));
  // Half of the tools end in the number of their server.
  expect(items.filter((item) => access.shows(item))).toHaveLength(5_000);
});

describe('the filter of a view', () => {
  it.each([
    [['*'], [], 'tool files.x', true],
    [['files.*'], [], 'tool files.x', true],
    [['files.*'], [], 'tool web.x', false],
    [['*'], ['files.*'], 'tool files.x', false],
    [['*'], ['tool:files.*'], 'prompt files.x', true],
    [[], [], 'tool files.x', false],
  ])('include %j, exclude %j, %s: %s', (include, exclude, text, expected) => {
    const filter = viewFilter({ include, exclude });
    expect(filter.shows(subject(text))).toBe(expected);
    expect(filter.key === '').toBe(include.includes('*') && exclude.length === 0);
  });

  it('sees the servers that it can show anything of, and is made once', () => {
    const view = { include: ['files.*', 'web.a'], exclude: ['files.*'] };
    expect(viewFilter(view).sees('files')).toBe(false);
    expect(viewFilter(view).sees('web')).toBe(true);
    expect(viewFilter(view)).toBe(viewFilter(view));
  });
});
