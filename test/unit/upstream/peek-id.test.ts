import { describe, expect, it } from 'vitest';
import { peekResponseId } from '../../../src/upstream/peek-id.ts';

const KEPT = 4_096;
const filler = 'x'.repeat(50_000);

function peek(line: string) {
  return peekResponseId(line.slice(0, KEPT), line.slice(-KEPT));
}

describe('id of a response of which only the ends are known', () => {
  it.each([
    ['id first', `{"jsonrpc":"2.0","id":7,"result":{"text":"${filler}"}}`, 7],
    ['id first, spaced', `{ "jsonrpc" : "2.0" , "id" : 0 , "result" : { "text" : "${filler}" } }`, 0],
    ['id as a string with an escaped quote', `{"id":"a\\"b","result":{"text":"${filler}"}}`, 'a"b'],
    ['id last', `{"result":{"text":"${filler}"},"jsonrpc":"2.0","id":9}`, 9],
    ['id before jsonrpc at the end', `{"result":{"text":"${filler}"},"id":9,"jsonrpc":"2.0"}`, 9],
    ['id after a small first member', `{"meta":{"id":5,"x":[1,{"id":6}]},"id":8,"result":"${filler}"}`, 8],
  ])('is read: %s', (_title, line, id) => {
    expect(peek(line)).toBe(id);
  });

  it.each([
    ['a nested id at the start', `{"result":{"id":5,"text":"${filler}"}}`],
    ['a nested id at the end', `{"result":{"text":"${filler}","id":5}}`],
    [
      'a request of the peer',
      `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"t":"${filler}"}}`,
    ],
    ['a request with its id last', `{"method":"x","params":{"t":"${filler}"},"id":7}`],
    ['a request whose method is out of sight', `{"id":7,"params":{"t":"${filler}"},"method":"x"}`],
    ['an id inside a string at the end', `{"result":{"t":"${filler},\\"id\\":5}"}}`],
    [
      'an id that is cut',
      `{"x":"${'x'.repeat(KEPT - 12)}","id":123456,"result":"${filler}"}`.slice(0, KEPT - 3),
    ],
    ['null', `{"id":null,"result":"${filler}"}`],
    ['a fraction', `{"id":1.5,"result":"${filler}"}`],
    ['no object', filler],
    ['an array', `[{"id":1,"result":"${filler}"}]`],
  ])('is not guessed: %s', (_title, line) => {
    expect(peek(line)).toBeUndefined();
  });
});
