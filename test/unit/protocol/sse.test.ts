import { expect, it } from 'vitest';
import { messageEvent } from '../../../src/protocol/sse.ts';

it('a message is one line, whatever a reader takes for the end of one', () => {
  const message = { text: 'a\u0085b\u2028c\u2029d\ne\rf\vg\fh\u001ci é🎉' };
  const event = messageEvent(JSON.stringify(message), 'x.1');
  // What `str.splitlines` of Python splits at.
  const lines = event.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
  expect(lines).toEqual(['id: x.1', 'event: message', expect.stringMatching(/^data: \{.*\}$/), '', '']);
  expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toEqual(message);
});
