import { expect, it } from 'vitest';
import { mayRepeat } from '../../../src/relay/repeatable.ts';

const tools = { allow: ['*'], deny: [], rename: {}, describe: {}, annotate: {} };
const trusting = { retry: 'safe', tools, trust: { annotations: true } } as const;
const annotated = (annotations: { readonly readOnly?: boolean; readonly idempotent?: boolean }) => ({
  tools: { ...tools, annotate: { read: annotations } },
});

it.each([
  ['a tool that only reads', {}, { readOnlyHint: true }, true],
  ['a tool that is idempotent', {}, { idempotentHint: true }, true],
  ['a tool that says neither', {}, { readOnlyHint: false, openWorldHint: true }, false],
  ['a tool that says nothing', {}, undefined, false],
  ['a hint that is no boolean', {}, { readOnlyHint: 'yes' }, false],
  ['by default', { retry: 'never' as const }, { readOnlyHint: true }, false],
  ['a server that is not trusted', { trust: { annotations: false } }, { readOnlyHint: true }, false],
  [
    "the configuration's own word, whatever the server's counts",
    { ...annotated({ readOnly: true }), trust: { annotations: false } },
    undefined,
    true,
  ],
  [
    "the configuration's word against the server's",
    annotated({ readOnly: false }),
    { readOnlyHint: true },
    false,
  ],
  ['another tool of which the configuration says so', { trust: { annotations: false } }, undefined, false],
])('%s', (_, settings, hints, expected) => {
  expect(mayRepeat({ ...trusting, ...settings }, 'read', hints)).toBe(expected);
});
