import { describe, expect, it } from 'vitest';
import { addItem, EditRefused, jsonAt, removeMember, setMembers } from '../../../src/hosts/edit-json.ts';
import { setTable, tomlAt } from '../../../src/hosts/edit-toml.ts';

const NONE: ReadonlySet<string> = new Set();
const PATH = ['mcpServers', 'gate'];
const ENTRY = { url: 'http://x/' };

describe('editing JSON', () => {
  it.each([
    ['nothing', '', '{\n  "mcpServers": {\n    "gate": {\n      "url": "http://x/"\n    }\n  }\n}\n'],
    [
      'an empty mapping',
      '{}',
      '{\n  "mcpServers": {\n    "gate": {\n      "url": "http://x/"\n    }\n  }\n}',
    ],
    [
      'neighbours on one line, tabs, a trailing comma and a comment behind it',
      '{\n\t"mcpServers": {\n\t\t"a": {"x":1}, // mine\n\t},\n\t"o": [1, 2] }\n',
      '{\n\t"mcpServers": {\n\t\t"a": {"x":1}, // mine\n\t\t"gate": {\n\t\t\t"url": "http://x/"\n\t\t},\n\t},\n\t"o": [1, 2] }\n',
    ],
    [
      'a comment behind the last member, and one at the end',
      '{\r\n    "mcpServers": {\r\n        "a": {} // mine\r\n        // the end\r\n    }\r\n}',
      '{\r\n    "mcpServers": {\r\n        "a": {}, // mine\r\n        "gate": {\r\n            "url": "http://x/"\r\n        }\r\n        // the end\r\n    }\r\n}',
    ],
    [
      'all on one line',
      '{ "mcpServers": { "a": {} } }',
      '{ "mcpServers": { "a": {},\n  "gate": {\n    "url": "http://x/"\n  }\n} }',
    ],
    [
      'a comment alone',
      '{ // mine\n}',
      '{ // mine\n  "mcpServers": {\n    "gate": {\n      "url": "http://x/"\n    }\n  }\n}',
    ],
  ])('adds an entry to %s, and removes it again', (_, before, after) => {
    const added = setMembers(before, PATH, ENTRY, NONE);
    expect(added).toBe(after);
    expect(jsonAt(removeMember(added, PATH), PATH)).toBeUndefined();
    expect(setMembers(added, PATH, ENTRY, NONE)).toBe(added);
  });

  it.each([
    '{\n  "mcpServers": {\n    "a": {"x":1}, // mine\n  },\n}\n',
    '{\n  "mcpServers": {\n    "a": {"x":1} // mine\n    // end\n  }\n}\n',
    '{\n  "mcpServers": {\n    "a": 1,\n    "b": 2\n  }\n}\n',
  ])('leaves nothing behind when the entry goes', (text) => {
    expect(removeMember(setMembers(text, PATH, ENTRY, NONE), PATH)).toBe(text);
  });

  it('replaces what says how the server is reached, and no other member nor comment', () => {
    const before =
      '{ "mcpServers": { "gate": {\n  "command": "x", // old\n  "disabled": true, // mine\n  "url": "old"\n} } }';
    const after = setMembers(before, PATH, ENTRY, new Set(['command', 'url']));
    expect(after).toBe(
      '{ "mcpServers": { "gate": {\n  "disabled": true, // mine\n  "url": "http://x/"\n} } }',
    );
  });

  it('adds to a list once', () => {
    const same = (there: unknown) => there === 'n';
    const once = addItem('{"inputs": ["m"]}', ['inputs'], 'n', same);
    expect(jsonAt(once, ['inputs'])).toEqual(['m', 'n']);
    expect(addItem(once, ['inputs'], 'n', same)).toBe(once);
  });

  it.each([
    ['is broken', '{ "mcpServers": {'],
    ['has the key twice', '{ "mcpServers": {}, "mcpServers": {} }'],
    ['holds a list where the servers should be', '{ "mcpServers": [] }'],
    ['is a list', '[]'],
  ])('refuses a text that %s', (_, text) => {
    expect(() => setMembers(text, PATH, ENTRY, NONE)).toThrow(EditRefused);
  });
});

describe('editing TOML', () => {
  const at = ['mcp_servers', 'gate'] as const;

  it('adds a table at the end, keeps comments, and takes it out again', () => {
    const before =
      '# mine\nm = "x" # c\n\n[mcp_servers.other]\ncommand = "y"\n\n# of profiles\n[profiles.a]\nb = 1\n';
    const after = setTable(before, at, { url: 'http://x/', env: { 'a b': '\u007f"' } }, NONE);
    expect(after).toBe(`${before}\n[mcp_servers.gate]\nurl = "http://x/"\nenv = { "a b" = "\\u007f\\"" }\n`);
    expect(setTable(after, at, undefined, NONE).trimEnd()).toBe(before.trimEnd());
  });

  it('replaces a table in its place, with the tables below it that are replaced', () => {
    const before =
      '[mcp_servers."gate"]\ncommand = "x"\ntool_timeout_sec = 5 # mine\n[mcp_servers.gate.env]\nA = "1"\n[z]\ny = 1\n';
    const after = setTable(before, at, { url: 'u' }, new Set(['command', 'env', 'url']));
    expect(after).toBe('[mcp_servers.gate]\nurl = "u"\ntool_timeout_sec = 5 # mine\n[z]\ny = 1\n');
    expect(tomlAt(after, ...at)).toEqual({ url: 'u', tool_timeout_sec: 5 });
  });

  it.each([
    ['an inline table', 'mcp_servers = { gate = { url = "old" } }\n'],
    ['a header within a text', 'm = """\n[mcp_servers.gate]\nurl = "old"\n"""\n'],
    ['no TOML', 'a = \n'],
  ])('refuses %s', (_, text) => {
    expect(() => setTable(text, at, { url: 'u' }, new Set(['url']))).toThrow(EditRefused);
  });
});
