import { describe, expect, it } from 'vitest';
import { compileTemplate, firstMatch } from '../../../src/catalog/template.ts';

const matches = (template: string, uri: string) => compileTemplate(template)?.matches(uri);

describe('compileTemplate', () => {
  it.each([
    ['db://{table}/{id}', 'db://users/7', true],
    ['db://{table}/{id}', 'db://a%2Fb/7', true],
    ['db://{table}/{id}', 'db://users', false],
    ['db://{table}/{id}', 'db://users/', false],
    ['db://{table}/{id}', 'db://users/7/8', false],
    ['db://{table}/{id}', 'db://users/7?v=2', false],
    ['db://{table}/{id}', 'DB://users/7', false],
    ['db://{table}/meta{?v}', 'db://users/meta', true],
    ['db://{table}/meta{?v}', 'db://users/meta?v=2', true],
    ['db://{table}/meta{?v}', 'db://users/meta?w=2', false],
    ['db://{table}/meta{?v}', 'db://users/meta?', false],
    ['s://q{?a,b}', 's://q?b=1&a=2', true],
    ['s://q{?a,b}', 's://q?a=1&c=2', false],
    ['s://q{?a,b}', 's://q?a=1&b', true],
    ['s://q{?all*}', 's://q?x=1&y=2', true],
    ['s://q?fixed=1{&x}', 's://q?fixed=1&x=5', true],
    ['s://q?fixed=1{&x}', 's://q?fixed=1', true],
    ['s://q?fixed=1{&x}', 's://q?fixed=1&xx=5', false],
    ['s://q{?a}{#f}', 's://q?a=1#top', true],
    ['file:///{+path}', 'file:///a/b/c.txt', true],
    ['file:///{+path}', 'file:///', false],
    ['file:///{path}', 'file:///a/b.txt', false],
    ['file:///{+path}/b/{name}', 'file:///a/b/c/b/d', true],
    ['file:///{+path}/b/{name}', 'file:///a/b/c/e/d', false],
    ['f://{x*}', 'f://1,2,3', true],
    ['f://{x,y}', 'f://1,2', true],
    ['f://r{/a,b}', 'f://r/1/2', true],
    ['f://r{/a,b}', 'f://r', true],
    ['f://r{/a,b}', 'f://r/1/2/3', false],
    ['f://r{/a*}', 'f://r/1/2/3', true],
    ['f://r{/a*}', 'f://rest', false],
    ['f://r{.ext}', 'f://r.tar.gz', true],
    ['f://r{.ext}', 'f://r/gz', false],
    ['f://r{;p,q}', 'f://r;q=1;p', true],
    ['f://r{;p,q}', 'f://r;z=1', false],
    ['f://r{#x}', 'f://r#a/b?c', true],
    ['f://{name:3}.txt', 'f://abc.txt', true],
    ['f://{a}-{b}', 'f://1-2-3', true],
    ['plain://x', 'plain://x', true],
    ['plain://x', 'plain://xy', false],
    ['f://{x}', 'f://читать—🎉', true],
  ])('%s against %s: %s', (template, uri, expected) => {
    expect(matches(template, uri)).toBe(expected);
  });

  it.each([
    'f://{',
    'f://}',
    'f://{x',
    'f://{}',
    'f://{x{y}}',
    'f://{ x }',
    'f://{=x}',
    `f://${'x'.repeat(4096)}`,
  ])('does not read %.20s', (template) => {
    expect(compileTemplate(template)).toBeUndefined();
  });

  it('shapes tell templates apart by what they match, not by what variables are called', () => {
    const shape = (template: string) => compileTemplate(template)?.shape;
    expect(shape('db://{table}/{id}')).toBe(shape('db://{t}/{key}'));
    expect(shape('db://{table}/{id}')).not.toBe(shape('db://{table}/{+id}'));
    expect(shape('s://q{?a,b}')).toBe(shape('s://q{?b,a}'));
    expect(shape('s://q{?a}')).not.toBe(shape('s://q{?b}'));
  });

  it('a hostile pair of template and URI comes to an end: no backtracking', () => {
    const hostile = `x://${'{+a}a{?b}'.repeat(16)}z`;
    expect(matches(hostile, `x://${'a?b=a&'.repeat(600)}`)).toBe(false);
    expect(matches(`x://${'{+a}'.repeat(32)}`, `x://${'a'.repeat(4_000)}`)).toBe(true);
    expect(compileTemplate('{a}'.repeat(33))).toBeUndefined();
    expect(matches('x://{+a}', `x://${'a'.repeat(4_093)}`)).toBe(false);
  });

  it('firstMatch: the first that matches, with bounded work for one list', () => {
    const compiled = (template: string) => ({ template, compiled: compileTemplate(template) });
    const ordinary = [compiled('f://{'), compiled('a://{x}'), compiled('f://{a}/b'), compiled('f://{+any}')];
    expect(firstMatch(ordinary, 'f://x/b')?.template).toBe('f://{a}/b');
    expect(firstMatch(ordinary, 'f://x/c')?.template).toBe('f://{+any}');
    expect(firstMatch(ordinary, 'g://x')).toBeUndefined();
    const many = Array.from({ length: 500 }, (_, index) => compiled(`f://{a}/${index}`));
    expect(firstMatch(many, 'f://x/499')?.template).toBe('f://{a}/499');
    const hostile = Array(10_000).fill(compiled(`f://${'{+a}a'.repeat(32)}z`));
    expect(firstMatch([...hostile, compiled('f://{+any}')], `f://${'a'.repeat(4_000)}`)).toBeUndefined();
  });
});
