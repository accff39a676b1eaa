import { describe, expect, it } from 'vitest';
import { wholesOf } from '../../../src/base/uri-parts.ts';
import { Updates } from '../../../src/changes/updates.ts';

describe('who wants to hear of what', () => {
  it('tells of each change the set that is wanted, without copying it each time', () => {
    const told: ReadonlySet<string>[] = [];
    const updates = new Updates(
      () => '',
      (_place, things) => told.push(things),
    );
    const stops = Array.from({ length: 20_000 }, (_, at) =>
      updates.subscribe({ upstream: 'up', uri: `x://${at}` }, () => {}),
    );
    expect(new Set(told).size).toBe(1);
    expect(told[0]?.size).toBe(20_000);
    for (const stop of stops) {
      stop();
      stop();
    }
    expect(told[0]?.size).toBe(0);
    expect(told).toHaveLength(40_000);
  });

  it('goes on where all was let go of and something is wanted again', () => {
    const heard: string[] = [];
    const updates = new Updates(
      () => '',
      () => {},
    );
    const first = updates.subscribe({ upstream: 'up', uri: 'x://1' }, () => {});
    first();
    const second = updates.subscribe({ upstream: 'up', uri: 'x://1' }, (uri) => heard.push(uri));
    first();
    updates.updated('up', 'x://1');
    expect(heard).toEqual(['x://1']);
    second();
  });
});

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
    for (let part = 0; part < 1_000; part += 1) {
      updates.updated('up', `file:///a/${part}`);
    }
    expect(heard.length).toBeLessThan(100);
    // Not always the last: on a machine that stands still for half a second, single parts are told again.
    expect(heard).toContain('file:///a');
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
