import type { Era } from '../../src/protocol/model.ts';
import type { Connect } from './agent.ts';
import { connectLegacy } from './legacy-agent.ts';
import { connectModern } from './modern-agent.ts';

/** For tests as a matrix: `describe.each(AGENTS)('a $era client', ({ connect }) => …)`. */
export const AGENTS: readonly { readonly era: Era; readonly connect: Connect }[] = [
  { era: 'legacy', connect: connectLegacy },
  { era: 'modern', connect: connectModern },
];
