import type { Principal } from '../access/principal.ts';
import type { JsonObject } from '../base/json.ts';
import type { Implementation } from '../protocol/model.ts';
import type { Question } from './call.ts';

/** For whom a call is made, as far as it decides which connection it takes. */
export interface Party {
  readonly principal: Principal;
  /** The legacy session it came in, where there is one. */
  readonly session: string | undefined;
  readonly era: 'modern' | 'legacy';
  readonly info: Implementation;
  /** Capabilities of this client that the gateway can carry: declared on its connections, and nothing else. */
  readonly capabilities: JsonObject;
  /** Answers a question that comes while no call is under way. */
  readonly question: (question: Question) => Promise<JsonObject>;
}
