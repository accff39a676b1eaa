import { describe, expect, it } from 'vitest';
import { ANONYMOUS, type Principal } from '../../../src/access/principal.ts';
import { SeenUris } from '../../../src/relay/seen-uris.ts';

const user = (key: string): Principal => ({ ...ANONYMOUS, key });
const ANN = user('ann');
const BEN = user('ben');

describe('URIs that results gave', () => {
  const noting = (seen: SeenUris) => (principal: Principal, uri: string) =>
    seen.note(principal, uri, { upstream: 'up', uri: `own-${uri}` });

  it('are remembered for whom they were given to, the newest 2,000 of them', () => {
    const seen = new SeenUris();
    const note = noting(seen);
    for (let at = 0; at < 2_001; at += 1) {
      note(ANN, `x://${at}`);
    }
    expect(seen.find(ANN, 'x://0')).toBeUndefined();
    expect(seen.find(ANN, 'x://1')).toEqual({ upstream: 'up', uri: 'own-x://1' });
    expect(seen.find(ANN, 'x://2000')).toBeDefined();
    expect(seen.find(BEN, 'x://2000')).toBeUndefined();
  });

  it('one that comes again is the newest, and counts once', () => {
    const seen = new SeenUris();
    const note = noting(seen);
    note(ANN, 'x://kept');
    for (let at = 0; at < 5_000; at += 1) {
      note(ANN, `x://${at}`);
      note(ANN, 'x://kept');
    }
    expect(seen.find(ANN, 'x://kept')).toBeDefined();
  });

  it('of all users take 32 MiB together: whoever came by longest ago is forgotten', () => {
    const seen = new SeenUris();
    const note = noting(seen);
    const long = (at: number) => `x://${at}/${'u'.repeat(8_000)}`;
    for (let at = 0; at < 1_000; at += 1) {
      note(ANN, long(at)); // 16 MiB
    }
    for (let at = 0; at < 1_000; at += 1) {
      note(BEN, long(at));
    }
    expect(seen.find(ANN, long(999))).toBeDefined();
    for (let at = 1_000; at < 1_200; at += 1) {
      note(BEN, long(at));
    }
    expect(seen.find(ANN, long(999))).toBeUndefined();
    expect(seen.find(BEN, long(0))).toBeDefined();
  });

  it('a longer one than any name is not remembered', () => {
    const seen = new SeenUris();
    const note = noting(seen);
    note(ANN, 'u'.repeat(8_192));
    note(ANN, 'u'.repeat(8_193));
    expect(seen.find(ANN, 'u'.repeat(8_192))).toBeDefined();
    expect(seen.find(ANN, 'u'.repeat(8_193))).toBeUndefined();
  });
});
