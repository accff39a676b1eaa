import { describe, expect, it } from 'vitest';
import { createPolicy, EVERYTHING } from '../../../src/access/policy.ts';
import { ANONYMOUS } from '../../../src/access/principal.ts';
import { parse } from '../config/kit.ts';
import { person, policyOf, subject } from './people.ts';

const read = subject('tool files.read');
const write = subject('tool files.write');

it('without a rule everybody may use everything', () => {
  const policy = createPolicy(parse('upstreams: {files: {url: "http://h/mcp"}}').settings);
  expect(policy(ANONYMOUS)).toBe(EVERYTHING);
  expect(policy(person()).shows(subject('tool whatever.at all'))).toBe(true);
});

describe('who', () => {
  const ann = person({ id: 'ann', groups: ['eng', 'ops'], scopes: ['read', 'write'] });
  it.each([
    ['{groups: [eng]}', true],
    ['{groups: [sales, ops]}', true],
    ['{groups: [sales]}', false],
    ['{groups: [en]}', false],
    ['{groups: [ENG]}', false],
    ['{scopes: [read]}', true],
    ['{scopes: [read, write]}', true],
    ['{scopes: [read, admin]}', false],
    ['{ids: [bob, ann]}', true],
    ['{ids: [bob]}', false],
    ['{ids: [Ann]}', false],
    ['{anyone: true}', true],
    ['{groups: [eng], ids: [ann], scopes: [read]}', true],
    ['{groups: [eng], ids: [bob]}', false],
    ['{groups: [eng], scopes: [admin]}', false],
    ['{anyone: true, groups: [sales]}', false],
    ['{anyone: false, ids: [ann]}', true],
  ])('%s: %s', (who, expected) => {
    expect(policyOf(`[{who: ${who}, allow: ["files.read"]}]`)(ann).shows(read)).toBe(expected);
  });

  it('nobody in particular is only whom "anyone" means', () => {
    const policy = policyOf(
      '[{who: {groups: [eng]}, allow: ["*"]}, {who: {anyone: true}, allow: ["files.read"]}]',
    );
    expect(policy(ANONYMOUS).shows(read)).toBe(true);
    expect(policy(ANONYMOUS).shows(write)).toBe(false);
  });

  it('a rule that names nobody is for nobody, should one get past the check of the configuration', () => {
    const { settings } = parse('access: [{who: {anyone: true}, allow: ["*"]}]');
    const [rule] = settings.access;
    const who = { groups: [], scopes: [], ids: [], anyone: false };
    expect(createPolicy({ ...settings, access: [{ ...rule!, who }] })(person()).shows(read)).toBe(false);
  });
});

describe('order', () => {
  it.each([
    ['what no rule names is denied', '[{who: {anyone: true}, allow: ["web.*"]}]', false],
    [
      'the first rule that names it decides: allowed',
      '[{who: {anyone: true}, allow: ["files.*"]}, {who: {anyone: true}, deny: ["*"]}]',
      true,
    ],
    [
      'the first rule that names it decides: denied',
      '[{who: {anyone: true}, deny: ["files.*"]}, {who: {anyone: true}, allow: ["*"]}]',
      false,
    ],
    [
      'within one rule deny is read first',
      '[{who: {anyone: true}, allow: ["*"], deny: ["files.read"]}]',
      false,
    ],
    [
      'and what deny does not name is for allow',
      '[{who: {anyone: true}, allow: ["*"], deny: ["files.write"]}]',
      true,
    ],
    [
      'a rule that does not name it is passed over',
      '[{who: {anyone: true}, allow: ["web.*"], deny: ["web.x"]}, {who: {anyone: true}, allow: ["files.*"]}]',
      true,
    ],
    [
      'a rule for others is passed over',
      '[{who: {groups: [sales]}, deny: ["*"]}, {who: {anyone: true}, allow: ["*"]}]',
      true,
    ],
    ['a rule with deny alone allows nothing', '[{who: {anyone: true}, deny: ["web.*"]}]', false],
  ])('%s', (_what, rules, expected) => {
    expect(policyOf(rules)(person()).shows(read)).toBe(expected);
  });
});

describe('where', () => {
  const TRUSTED = '{files: {url: "http://h/mcp", trust: {annotations: true}}}';
  const shows = (where: string, annotations: unknown, upstreams = TRUSTED) =>
    policyOf(
      `[{who: {anyone: true}, allow: ["*"], where: ${where}}]`,
      upstreams,
    )(person()).shows(subject('tool files.act', annotations));

  it.each([
    ['{readOnly: true}', { readOnlyHint: true }, true],
    ['{readOnly: true}', { readOnlyHint: false }, false],
    ['{readOnly: true}', {}, false],
    ['{readOnly: false}', { readOnlyHint: false }, true],
    ['{readOnly: false}', {}, false],
    ['{readOnly: missing}', {}, true],
    ['{readOnly: missing}', { readOnlyHint: false }, false],
    ['{readOnly: missing}', { readOnlyHint: 'true' }, true],
    ['{readOnly: missing}', null, true],
    ['{readOnly: missing}', ['readOnlyHint'], true],
    ['{destructive: true}', { destructiveHint: true }, true],
    ['{destructive: true}', { destructiveHint: 1 }, false],
    ['{openWorld: false}', { openWorldHint: false }, true],
    ['{openWorld: missing}', { openWorldHint: true }, false],
    ['{readOnly: true, openWorld: false}', { readOnlyHint: true, openWorldHint: false }, true],
    ['{readOnly: true, openWorld: false}', { readOnlyHint: true }, false],
    ['{}', {}, true],
  ])('of a trusted server: %s with %j: %s', (where, annotations, expected) => {
    expect(shows(where, annotations)).toBe(expected);
  });

  it.each([
    ['{readOnly: true}', false],
    ['{readOnly: missing}', true],
  ])('what a server says that is not trusted is missing: %s: %s', (where, expected) => {
    expect(shows(where, { readOnlyHint: true }, '{files: {url: "http://h/mcp"}}')).toBe(expected);
  });

  it.each([
    ['readOnly: true', '{readOnly: true}', true],
    ['readOnly: false', '{readOnly: true}', false],
    ['title: Act', '{readOnly: true}', false],
    ['destructive: false', '{destructive: false, readOnly: missing}', true],
  ])('tools.annotate counts without trust, hint by hint: %s, %s: %s', (given, where, expected) => {
    const upstreams = `{files: {url: "http://h/mcp", tools: {annotate: {act: {${given}}}}}}`;
    expect(shows(where, { readOnlyHint: true, destructiveHint: true }, upstreams)).toBe(expected);
  });

  it('tools.annotate outranks a trusted server', () => {
    const upstreams =
      '{files: {url: "http://h/mcp", trust: {annotations: true}, tools: {annotate: {act: {readOnly: false}}}}}';
    expect(shows('{readOnly: true}', { readOnlyHint: true }, upstreams)).toBe(false);
    expect(shows('{openWorld: false}', { openWorldHint: false }, upstreams)).toBe(true);
  });

  it('is about tools only: other kinds are left to the next rule', () => {
    const policy = policyOf(
      '[{who: {anyone: true}, deny: ["*"], where: {readOnly: missing}}, {who: {anyone: true}, allow: ["*"]}]',
    );
    expect(policy(person()).shows(subject('tool files.act', {}))).toBe(false);
    expect(policy(person()).shows(subject('prompt files.act'))).toBe(true);
    expect(policy(person()).shows(subject('resource files.x://1'))).toBe(true);
    expect(policy(person()).shows(subject('method files.skills/list'))).toBe(true);
  });

  it('a rule whose hints differ is passed over', () => {
    const rules =
      '[{who: {anyone: true}, deny: ["*"], where: {destructive: true}}, {who: {anyone: true}, allow: ["*"]}]';
    const policy = policyOf(rules, TRUSTED)(person());
    expect(policy.shows(subject('tool files.act', { destructiveHint: true }))).toBe(false);
    expect(policy.shows(subject('tool files.act', { destructiveHint: false }))).toBe(true);
    expect(policy.shows(subject('tool files.act'))).toBe(true);
  });

  it('a tool named like a member of every object has the hints it was given, and no others', () => {
    const upstreams = '{files: {url: "http://h/mcp", tools: {annotate: {__proto__: {readOnly: true}}}}}';
    const policy = policyOf(
      '[{who: {anyone: true}, allow: ["*"], where: {readOnly: true}}]',
      upstreams,
    )(person());
    expect(policy.shows(subject('tool files.__proto__', {}))).toBe(true);
    expect(policy.shows(subject('tool files.constructor', {}))).toBe(false);
    expect(policy.shows(subject('tool files.toString', {}))).toBe(false);
  });
});

describe('scopes', () => {
  const policy = policyOf(
    '[{who: {anyone: true}, allow: ["files.write"], scopes: [write, audit]}, {who: {anyone: true}, allow: ["files.*"]}]',
  );

  it('what needs them is listed, and says which are lacking and which are needed in all', () => {
    const access = policy(person({ scopes: ['audit'] }));
    expect(access.shows(write)).toBe(true);
    expect(access.lacking(write)).toEqual(['write']);
    expect(access.needed(write)).toEqual(['write', 'audit']);
    expect(access.lacking(read)).toEqual([]);
    expect(access.needed(read)).toEqual([]);
  });

  it('whoever has them all lacks none', () => {
    expect(policy(person({ scopes: ['write', 'audit', 'more'] })).lacking(write)).toEqual([]);
  });

  it('what is denied lacks nothing: it is not there', () => {
    const access = policy(person());
    expect(access.shows(subject('tool web.x'))).toBe(false);
    expect(access.lacking(subject('tool web.x'))).toEqual([]);
  });
});

describe('the key', () => {
  const rules =
    '[{who: {groups: [eng]}, allow: ["files.*"], scopes: [write]}, {who: {ids: [ann]}, allow: ["web.*"]}, {who: {anyone: true}, allow: ["*.help"]}]';
  const policy = policyOf(rules);

  it('is equal for people to whom every rule says the same, and so is all that is made for it', () => {
    const one = policy(person({ id: 'bob', groups: ['eng', 'x'], scopes: ['read'] }));
    const other = policy(person({ id: 'cy', groups: ['eng'] }));
    expect(one).toBe(other);
    expect(policyOf(rules)(person({ groups: ['eng'] })).key).toBe(one.key);
  });

  it.each([
    ['another rule is theirs', person({ id: 'ann', groups: ['eng'] })],
    ['a rule is not', person({ id: 'bob' })],
    ['they have a scope that counts', person({ groups: ['eng'], scopes: ['write'] })],
  ])('differs where %s', (_why, other) => {
    expect(policy(other).key).not.toBe(policy(person({ groups: ['eng'] })).key);
  });

  it('differs where the rules do, and where hints are believed otherwise', () => {
    const keys = [
      policyOf('[{who: {anyone: true}, allow: ["*"]}]'),
      policyOf('[{who: {anyone: true}, allow: ["files.*"]}]'),
      policyOf(
        '[{who: {anyone: true}, allow: ["*"]}]',
        '{files: {url: "http://h/mcp", trust: {annotations: true}}}',
      ),
      policyOf(
        '[{who: {anyone: true}, allow: ["*"]}]',
        '{files: {url: "http://h/mcp", tools: {annotate: {a: {readOnly: true}}}}}',
      ),
    ].map((each) => each(person()).key);
    expect(new Set([...keys, EVERYTHING.key]).size).toBe(5);
  });

  it('what is kept is bounded, and what was dropped is made again', () => {
    const many = Array.from({ length: 400 }, (_, at) => `{who: {ids: [u${at}]}, allow: ["files.t${at}"]}`);
    const wide = policyOf(`[${many.join(', ')}]`);
    const first = wide(person({ id: 'u0' }));
    for (let at = 1; at < 400; at += 1) {
      expect(wide(person({ id: `u${at}` })).shows(subject(`tool files.t${at}`))).toBe(true);
    }
    const again = wide(person({ id: 'u0' }));
    expect(again).not.toBe(first);
    expect(again.key).toBe(first.key);
    expect(again.shows(subject('tool files.t0'))).toBe(true);
    expect(again.shows(subject('tool files.t1'))).toBe(false);
  });
});

describe('sees', () => {
  it.each([
    ['[{who: {anyone: true}, allow: ["files.read"]}]', ['files']],
    ['[{who: {anyone: true}, allow: ["*"]}]', ['files', 'web']],
    ['[{who: {anyone: true}, allow: ["*.read"]}]', ['files', 'web']],
    ['[{who: {anyone: true}, allow: ["w*"]}]', ['web']],
    ['[{who: {anyone: true}, deny: ["files.*"]}, {who: {anyone: true}, allow: ["*"]}]', ['web']],
    ['[{who: {anyone: true}, allow: ["*"], deny: ["files.*"]}]', ['web']],
    ['[{who: {anyone: true}, deny: ["files.read"], allow: ["files.*"]}]', ['files']],
    ['[{who: {anyone: true}, deny: ["tool:files.*"]}, {who: {anyone: true}, allow: ["files.*"]}]', ['files']],
    [
      '[{who: {anyone: true}, deny: ["*"], where: {destructive: true}}, {who: {anyone: true}, allow: ["*"]}]',
      ['files', 'web'],
    ],
    ['[{who: {anyone: true}, allow: ["resource:web.https://x/*"]}]', ['web']],
    ['[{who: {groups: [eng]}, allow: ["files.*"]}]', []],
    ['[{who: {anyone: true}, deny: ["*"]}]', []],
  ])('%s: %j', (rules, expected) => {
    const access = policyOf(rules)(person());
    expect(['files', 'web'].filter((id) => access.sees(id))).toEqual(expected);
  });
});
