// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references of the configuration look like that
import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { parseSettings } from '../../src/config/load.ts';
import { GENERATED, inRepository } from './generate.ts';

const read = (path: string) => readFileSync(inRepository(path), 'utf8');

describe('generated files', () => {
  it.each(GENERATED)('%s is what the declaration makes; run: node test/gates/generate.ts', (path, make) => {
    expect(read(path)).toBe(make());
  });
});

/** YAML files, and those blocks of the pages that are configurations of the gateway. */
function examples(): readonly (readonly [string, string])[] {
  const root = fileURLToPath(inRepository(''));
  const files = globSync(['config/**/*.{yaml,yml}', 'docs/**/*.{yaml,yml}'], { cwd: root });
  const pages = globSync(['README.md', 'docs/**/*.md'], { cwd: root });
  const blocks = pages.flatMap((page) =>
    [...read(page).matchAll(/^```ya?ml\n(.*?)^```$/gms)].map(
      ([, text = ''], index) => [`${page}, block ${index + 1}`, text] as const,
    ),
  );
  return [
    // Rules for Prometheus, which metrics-doc.test.ts reads.
    ...files
      .filter((file) => file !== 'docs/alerts.yaml' && !file.startsWith('docs/kubernetes/'))
      .map((file) => [file, read(file)] as const),
    ...blocks.filter(([, text]) => /^upstreams:/m.test(text)),
  ];
}

/** Something for every variable, that also passes for a sealing key. */
const VALUE = `${'A'.repeat(43)}=`;
/** What a file of this name would hold. */
const KEY = String(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }));

function load(text: string) {
  const names = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [name, VALUE]);
  return parseSettings(text, {
    file: '/etc/gateway.yaml',
    env: Object.fromEntries(names),
    readFile: (path) => (path.endsWith('.pem') ? KEY : VALUE),
  });
}

const ajv = new Ajv({ allErrors: true, strict: false });
const accepts = ajv.compile(JSON.parse(read('config/gateway.schema.json')));
const verdict = (text: string) => (accepts(parseYaml(text, { merge: true })) ? [] : accepts.errors);

describe('examples', () => {
  it('are found', () => {
    expect(examples().map(([name]) => name)).toEqual(
      expect.arrayContaining(['docs/config.md, block 1', 'docs/config.md, block 2']),
    );
  });

  it.each(examples())('%s loads, and editors find nothing wrong in it', (_, text) => {
    expect(Object.keys(load(text).settings.upstreams)).not.toEqual([]);
    expect(verdict(text)).toEqual([]);
  });
});

describe('the published schema agrees with the loader', () => {
  it.each(['torture.yaml', 'everything.yaml'])('about %s, which is fine', (name) => {
    expect(verdict(read(`test/fixtures/config/${name}`))).toEqual([]);
  });

  it.each([
    'authh: {}',
    'auth: {modee: none}',
    'name: 1',
    'listen: {port: 65536}',
    'listen: {port: "80"}',
    'auth: {allowAnonymous: "true"}',
    'auth: {mode: key}',
    'changes: {debounce: 5x}',
    'changes: {debounce: -1}',
    'sealingKey: short',
    'upstreams: {A: {command: x}}',
    'upstreams: {a: {}}',
    'upstreams: {a: {command: x, url: "http://h"}}',
    'upstreams: {a: {command: x, headers: {}}}',
    'upstreams: {a: {command: x, args: y}}',
    'upstreams: {a: {command: x, env: {A: 1}}}',
    'upstreams: {a: {command: x, timeouts: {cal: 1}}}',
    'upstreams: {a: {command: x, namespace: A}}',
    'upstreams: {a: {url: "ftp://h"}}',
    'upstreams: {a: {url: "http://h", headers: {"X Y": z}}}',
  ])('about the mistake in %s', (text) => {
    expect(verdict(text)).not.toEqual([]);
    expect(() => load(text)).toThrow('The configuration is not valid.');
  });

  it.each([
    'x-anything: 1',
    'listen: {port: "${env:P:-80}", x-note: 1}',
    'auth: {mode: "${env:M:-none}", allowAnonymous: "${env:F:-true}"}',
    'changes: {debounce: "${env:D:-1s}"}',
    'changes: {debounce: 0}',
    'upstreams: {x-shared: {anything: 1}, a: {url: "${env:U:-http://h}", protocol: "${env:V:-auto}"}}',
    'upstreams: {a: {command: x, env: {A: null}}}',
  ])('that %s is fine', (text) => {
    expect(verdict(text)).toEqual([]);
    expect(() => load(text)).not.toThrow();
  });
});
