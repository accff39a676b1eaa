import { describe, expect, it } from 'vitest';
import { wholesOf } from '../../../src/base/uri-parts.ts';
import { Updates } from '../../../src/changes/updates.ts';

describe('updates of single resources', () => {
  function scene(watched: string) {
    const heard: string[] = [];
    const updates = new Updates(
      () => '',
      () => {},
    );
    const stop = updates.subscribe({ upstream: 'up', uri: watched }, (uri) => heard.push(uri));
    return { updates, heard, stop };
  }

  it.each([
    ['file:///a', 'file:///a', true],
    ['file:///a', 'file:///a/b/c', true],
    ['file:///a/', 'file:///a/b', true],
    ['file:///a', 'file:///ab', false],
    ['file:///a/b', 'file:///a', false],
    ['urn:x', 'urn:x/1', true],
  ])('who watches %s hears of %s: %s', (watched, changed, told) => {
    const { updates, heard, stop } = scene(watched);
    updates.updated('up', changed);
    expect(heard).toEqual(told ? [changed] : []);
    stop();
  });

  it('where very many parts change, tells that the whole did, and keeps no more of them', () => {
    const { updates, heard, stop } = scene('file:///a');
    for (let part = 0; part < 10_000; part += 1) {
      updates.updated('up', `file:///a/${part}`);
    }
    expect(heard.length).toBeLessThan(100);
    expect(heard.at(-1)).toBe('file:///a');
    stop();
  });

  it('a path of very many parts is a part of nothing', () => {
    expect(wholesOf(`file:///${'/'.repeat(1_000_000)}`)).toBeUndefined();
    expect(wholesOf('file:///a/b')).toEqual([
      'file:///a/b',
      'file:///a/',
      'file:///a',
      'file:///',
      'file://',
      'file://',
      'file:/',
      'file:/',
      'file:',
    ]);
  });
});
