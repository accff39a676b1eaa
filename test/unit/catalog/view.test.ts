import { describe, expect, it } from 'vitest';
import type { Subject } from '../../../src/access/policy.ts';
import { buildCatalog } from '../../../src/catalog/snapshot.ts';
import { viewOf } from '../../../src/catalog/view.ts';
import { part, resource, template, tool } from './parts.ts';

const SCHEMA = JSON.parse(
  '{"$defs":{"n":{}},"type":"object","properties":{"z":{},"a":{"$ref":"#/$defs/n"}}}',
);

const catalog = buildCatalog(
  [
    part('files', {
      tools: [{ 'x-first': 1, name: 'read', inputSchema: SCHEMA, title: 'Read' }],
      prompts: [{ name: 'ask' }],
      resources: [resource('ui://w'), resource('x://1')],
      templates: [template('db://{t}')],
    }),
    part('tickets', {
      tools: [
        tool('open', {
          _meta: {
            other: true,
            ui: { csp: {}, resourceUri: 'ui://w', visibility: ['app'] },
            'ui/resourceUri': 'ui://w',
          },
        }),
      ],
      resources: [resource('ui://w')],
      templates: [template('db://{x}')],
    }),
  ],
  { separator: '.', maxLength: 128 },
);
const items = (view: ReturnType<typeof viewOf>, kind: 'tools' | 'resources' | 'templates') =>
  view.list(kind).map(({ item }) => item);

describe('viewOf', () => {
  it('C-008: only the name changes, in its place; schemas are the same objects', () => {
    const [read] = items(viewOf(catalog, { style: 'dotted' }), 'tools');
    expect(JSON.stringify(read)).toBe(
      `{"x-first":1,"name":"files.read","inputSchema":${JSON.stringify(SCHEMA)},"title":"Read"}`,
    );
    expect(read?.['inputSchema']).toBe(catalog.toolOf('files', 'read')?.item['inputSchema']);
  });

  it('C-004: the strict style lists strict names, and finds a tool under either form', () => {
    const view = viewOf(catalog, { style: 'strict' });
    expect(items(view, 'tools').map((item) => item['name'])).toEqual(['files__read', 'tickets__open']);
    expect(view.find('tools', 'files.read')).toBe(view.find('tools', 'files__read'));
    expect(view.find('prompts', 'files__ask')?.original).toBe('ask');
    expect(view.find('tools', 'read')).toBeUndefined();
  });

  it('C-073: URIs of a second owner are renamed in lists and in the _meta of tools, and nothing else there', () => {
    const view = viewOf(catalog, { style: 'dotted' });
    expect(items(view, 'resources').map((item) => item['uri'])).toEqual([
      'ui://w',
      'x://1',
      'ui://tickets!w',
    ]);
    expect(items(view, 'templates').map((item) => item['uriTemplate'])).toEqual([
      'db://{t}',
      'db://tickets!{x}',
    ]);
    expect(JSON.stringify(items(view, 'tools')[1]?.['_meta'])).toBe(
      '{"other":true,"ui":{"csp":{},"resourceUri":"ui://tickets!w","visibility":["app"]},"ui/resourceUri":"ui://tickets!w"}',
    );
    expect(view.resource('ui://tickets!w')).toEqual({ upstream: 'tickets', uri: 'ui://w' });
    expect(view.exposeUri('tickets', 'ui://w')).toBe('ui://tickets!w');
  });

  it('the bare style is one upstream, its items untouched', () => {
    const view = viewOf(catalog, { style: 'bare', upstream: 'tickets' });
    expect(items(view, 'tools')[0]).toBe(catalog.toolOf('tickets', 'open')?.item);
    expect(items(view, 'resources')).toEqual([resource('ui://w')]);
    expect(view.find('tools', 'open')?.upstream).toBe('tickets');
    expect(view.find('tools', 'read')).toBeUndefined();
    expect(view.resource('ui://w')).toEqual({ upstream: 'tickets', uri: 'ui://w' });
    expect(view.exposeUri('tickets', 'ui://w')).toBe('ui://w');
  });

  it('one upstream under namespaced names sees nothing of the others', () => {
    const view = viewOf(catalog, { style: 'dotted', upstream: 'tickets' });
    expect(items(view, 'tools').map((item) => item['name'])).toEqual(['tickets.open']);
    expect(view.find('tools', 'files.read')).toBeUndefined();
    expect(view.resource('x://1')).toBeUndefined();
    expect(view.resource('ui://tickets!w')?.upstream).toBe('tickets');
  });

  it('is remembered for as long as the revision stays', () => {
    const [files, tickets] = [...catalog.parts.values()];
    const same = buildCatalog(
      [{ ...files!, stale: true }, tickets!],
      { separator: '.', maxLength: 128 },
      catalog,
    );
    expect(same).not.toBe(catalog);
    const view = viewOf(catalog, { style: 'dotted' });
    expect(viewOf(same, { style: 'dotted' })).toBe(view);
    expect(view.list('tools')).toBe(view.list('tools'));
    expect(viewOf(catalog, { style: 'strict' })).not.toBe(view);
  });

  it('through a sight: what it does not show is in no list and under no name or URI; names stay those of the whole', () => {
    const sight = {
      key: 'tickets only',
      shows: ({ upstream, original }: Subject) => upstream === 'tickets' || original === 'x://1',
    };
    const view = viewOf(catalog, { style: 'dotted' }, sight);
    expect(items(view, 'tools').map((item) => item['name'])).toEqual(['tickets.open']);
    expect(items(view, 'resources').map((item) => item['uri'])).toEqual(['x://1', 'ui://tickets!w']);
    expect(items(view, 'templates').map((item) => item['uriTemplate'])).toEqual(['db://tickets!{x}']);
    expect(view.list('prompts')).toEqual([]);
    expect(view.find('tools', 'files.read')).toBeUndefined();
    expect(view.find('tools', 'files__read')).toBeUndefined();
    expect(view.find('prompts', 'files.ask')).toBeUndefined();
    expect(view.find('tools', 'tickets__open')?.original).toBe('open');
    expect(view.resource('ui://w')).toBeUndefined();
    expect(view.resource('db://5')).toBeUndefined();
    expect(view.resource('x://1')?.upstream).toBe('files');
    expect(view.resource('ui://tickets!w')).toEqual({ upstream: 'tickets', uri: 'ui://w' });
  });

  it('the bare style asks the sight about any URI', () => {
    const sight = { key: 'no secrets', shows: ({ original }: Subject) => !original.includes('secret') };
    const view = viewOf(catalog, { style: 'bare', upstream: 'files' }, sight);
    expect(view.resource('file:///anything')?.upstream).toBe('files');
    expect(view.resource('file:///secret')).toBeUndefined();
  });

  it('views of one style share what they list, and one key is one view', () => {
    const all = { shows: () => true };
    const one = viewOf(catalog, { style: 'dotted' }, { key: '1', ...all });
    const other = viewOf(catalog, { style: 'dotted' }, { key: '2', ...all });
    expect(one).not.toBe(other);
    expect(viewOf(catalog, { style: 'dotted' }, { key: '1', ...all })).toBe(one);
    expect(viewOf(catalog, { style: 'strict' }, { key: '1', ...all })).not.toBe(one);
    expect(one.list('tools')[0]).toBe(other.list('tools')[0]);
    expect(one.list('tools')[0]).toBe(viewOf(catalog, { style: 'dotted' }).list('tools')[0]);
  });

  it('of more sets of rights than are kept ready each still sees its own', () => {
    const sightOf = (at: number) => ({
      key: `k${at}`,
      shows: ({ upstream }: Subject) => (upstream === 'files') === (at % 2 === 0),
    });
    for (let at = 0; at < 600; at += 1) {
      const expected = at % 2 === 0 ? ['files.read'] : ['tickets.open'];
      const view = viewOf(catalog, { style: 'dotted' }, sightOf(at));
      expect(items(view, 'tools').map((item) => item['name'])).toEqual(expected);
    }
    expect(items(viewOf(catalog, { style: 'dotted' }, sightOf(0)), 'tools')[0]?.['name']).toBe('files.read');
  });
});
