import { describe, expect, it } from 'vitest';
import { routeUris, type UriSource } from '../../../src/catalog/uris.ts';

const source = (upstream: string, uris: readonly string[], templates: readonly string[] = []): UriSource => ({
  upstream,
  uris,
  templates,
});

describe('routeUris', () => {
  it('C-073: the first in the configuration keeps a URI, later ones carry their id, and both read back right', () => {
    const notes = source('notes', ['file:///README.md', 'u1://x']);
    const tickets = source('tickets', ['file:///README.md']);
    const routes = routeUris([notes, tickets]);
    expect(routes.expose('notes', 'file:///README.md')).toBe('file:///README.md');
    expect(routes.expose('tickets', 'file:///README.md')).toBe('file://tickets!/README.md');
    expect(routes.expose('notes', 'u1://x')).toBe('u1://x');
    expect(routes.route('file:///README.md')).toEqual({ upstream: 'notes', uri: 'file:///README.md' });
    expect(routes.route('file://tickets!/README.md')).toEqual({
      upstream: 'tickets',
      uri: 'file:///README.md',
    });
    const swapped = routeUris([tickets, notes]);
    expect(swapped.expose('tickets', 'file:///README.md')).toBe('file:///README.md');
    expect(swapped.expose('notes', 'file:///README.md')).toBe('file://notes!/README.md');
  });

  it.each([
    ['ui://widget/x', 'ui://tickets!widget/x'],
    ['http://h.example:8080/a%2Fb?c#d', 'http://tickets!h.example:8080/a%2Fb?c#d'],
    ['urn:a:b', 'urn:tickets!a:b'],
    ['mailto:x', 'mailto:tickets!x'],
    ['u1:x', 'u1:tickets!x'],
    ['README.md', 'tickets!README.md'],
    ['x:', 'x:tickets!'],
    ['x:////y', 'x://tickets!//y'],
  ])('C-073: %s of a second owner is exposed as %s', (original, exposed) => {
    const routes = routeUris([source('first', [original]), source('tickets', [original])]);
    expect(routes.expose('tickets', original)).toBe(exposed);
    expect(routes.route(exposed)).toEqual({ upstream: 'tickets', uri: original });
  });

  it('C-073: a link that no list holds never leads to another server', () => {
    const routes = routeUris([
      source('notes', ['file:///a'], ['db://{t}/{id}']),
      source('tickets', ['x://own']),
    ]);
    expect(routes.expose('tickets', 'file:///a')).toBe('file://tickets!/a');
    expect(routes.route('file://tickets!/a')).toEqual({ upstream: 'tickets', uri: 'file:///a' });
    expect(routes.expose('tickets', 'db://t/1')).toBe('db://tickets!t/1');
    expect(routes.route('db://tickets!t/1')).toEqual({ upstream: 'tickets', uri: 'db://t/1' });
    expect(routes.expose('tickets', 'y://free')).toBe('y://free');
    expect(routes.expose('notes', 'db://t/1')).toBe('db://t/1');
  });

  it('web addresses in results stay what clients can fetch', () => {
    const routes = routeUris([source('fetch', [], ['https://{+any}']), source('tickets', ['x://own'])]);
    expect(routes.expose('tickets', 'https://example.com/a')).toBe('https://example.com/a');
  });

  it('the mark is the gateway’s alone: an upstream cannot claim another one’s renamed URIs', () => {
    const evil = source('evil', ['ui://x', 'ui://tickets!x']);
    const routes = routeUris([evil, source('tickets', ['ui://x'])]);
    expect(routes.route('ui://tickets!x')).toEqual({ upstream: 'tickets', uri: 'ui://x' });
    expect(routes.expose('evil', 'ui://tickets!x')).toBe('ui://evil!tickets!x');
    expect(routes.route('ui://evil!tickets!x')).toEqual({ upstream: 'evil', uri: 'ui://tickets!x' });
    // Behind `!`, but no id of an upstream: a URI like any other.
    expect(routes.expose('evil', 'ui://nobody!x')).toBe('ui://nobody!x');
  });

  it('a marked URI goes to its upstream or nowhere, not to a template of somebody else', () => {
    const routes = routeUris([source('wide', [], ['db://{+any}']), source('tickets', ['db://a'])]);
    expect(routes.route('db://tickets!made-up')).toEqual({ upstream: 'tickets', uri: 'db://made-up' });
    const narrow = routeUris([source('wide', [], ['db://{+any}x']), source('tickets', ['db://a'])]);
    expect(narrow.route('db://tickets!/x?no')).toBeUndefined();
    expect(narrow.route('db://other!/x')).toEqual({ upstream: 'wide', uri: 'db://other!/x' });
  });

  it('C-073: a template of two servers, whatever they call its variables', () => {
    const routes = routeUris([
      source('one', [], ['db://{table}/{id}']),
      source('two', ['db://users/meta'], ['db://{t}/{key}']),
    ]);
    expect(routes.expose('one', 'db://{table}/{id}')).toBe('db://{table}/{id}');
    expect(routes.expose('two', 'db://{t}/{key}')).toBe('db://two!{t}/{key}');
    expect(routes.route('db://two!users/7')).toEqual({ upstream: 'two', uri: 'db://users/7' });
    expect(routes.route('db://two!users/meta')).toEqual({ upstream: 'two', uri: 'db://users/meta' });
    expect(routes.route('db://users/7')).toEqual({ upstream: 'one', uri: 'db://users/7' });
    // Completion names a template as it was listed.
    expect(routes.route('db://two!{t}/{key}')).toEqual({ upstream: 'two', uri: 'db://{t}/{key}' });
  });

  it('C-074: an exact URI first, then templates in config order; percent-encoding unchanged; unknown is unknown', () => {
    const routes = routeUris([
      source('u1', [], ['db://{table}/{id}']),
      source('u2', ['db://users/meta'], ['db://{table}/meta{?v}']),
      source('u3', ['x://still-here']),
    ]);
    expect(routes.route('db://users/7')).toEqual({ upstream: 'u1', uri: 'db://users/7' });
    expect(routes.route('db://users/meta')).toEqual({ upstream: 'u2', uri: 'db://users/meta' });
    expect(routes.route('db://users/meta?v=2')).toEqual({ upstream: 'u2', uri: 'db://users/meta?v=2' });
    expect(routes.route('db://a%2Fb/7')).toEqual({ upstream: 'u1', uri: 'db://a%2Fb/7' });
    expect(routes.route('zz://1')).toBeUndefined();
    expect(routes.route('x://still-here')?.upstream).toBe('u3');
  });

  it('a server that a client does not see takes nothing from the templates of one that it sees', () => {
    const routes = routeUris([
      source('all', ['doc:///listed/1'], ['doc:///{+rest}']),
      source('logs', [], ['doc:///logs/{n}', 'doc:///listed/{n}']),
      source('more', [], ['doc:///logs/{n}/more']),
    ]);
    const without =
      (...hidden: string[]) =>
      ({ upstream }: { upstream: string }) =>
        !hidden.includes(upstream);
    for (const uri of ['doc:///logs/5', 'doc:///listed/1']) {
      expect(routes.route(uri)).toEqual({ upstream: 'all', uri });
      expect(routes.route(uri, without('all'))).toEqual({ upstream: 'logs', uri });
      expect(routes.route(uri, without('all', 'logs'))).toBeUndefined();
    }
    // A mark is of one server, or of none.
    expect(routes.route('doc://logs!/logs/5', without('logs'))).toBeUndefined();
    expect(routes.route('doc://logs!/logs/5', without('all'))).toEqual({
      upstream: 'logs',
      uri: 'doc:///logs/5',
    });
  });

  it('names the upstreams whose results need rewriting', () => {
    const quiet = source('quiet', []);
    expect(routeUris([quiet, source('only', ['a://1'])]).renamed).toEqual(new Set(['quiet']));
    expect(routeUris([quiet, source('other', [])]).renamed).toEqual(new Set());
    expect(routeUris([source('a', ['x://1']), source('b', ['x://1'])]).renamed).toEqual(new Set(['a', 'b']));
    expect(routeUris([source('a', ['x://a!1'])]).renamed).toEqual(new Set(['a']));
  });

  it('reports templates that cannot be matched', () => {
    const routes = routeUris([source('a', [], ['x://{', 'x://{ok}'])]);
    expect(routes.unreadable).toEqual([{ upstream: 'a', template: 'x://{' }]);
    expect(routes.route('x://{')).toEqual({ upstream: 'a', uri: 'x://{' });
  });
});
