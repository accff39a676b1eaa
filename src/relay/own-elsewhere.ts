import { createPrincipal, type Principal } from '../access/principal.ts';
import { GatewayError } from '../base/errors.ts';
import { isObject, type JsonObject, stringAt } from '../base/json.ts';
import { packFailure, unpackFailure } from '../base/packed-failure.ts';
import type { RpcNotification } from '../protocol/json-rpc.ts';
import type { Peers } from '../state/peers.ts';
import type { Talk } from '../state/talk.ts';
import type { CallOptions, Question } from '../upstream/call.ts';
import type { Fleet } from '../upstream/fleet.ts';
import type { Party } from '../upstream/party.ts';
import type { OwnRequest } from '../upstream/replicas.ts';

/** Requests on a connection that another replica has, as both sides say them. */

/** On the connection of a user or session. */
export const OWN_CALL = 'own-call';
/** On the one that everybody shares there. */
const SHARED_CALL = 'shared-call';
export type CallTopic = typeof OWN_CALL | typeof SHARED_CALL;

/** Has another replica make the request; its notices and questions come here, where the client is. */
export function askOwn(
  peers: Pick<Peers, 'ask'>,
  home: string,
  { upstream, party, any, method, params, options }: OwnRequest,
  topic: CallTopic = OWN_CALL,
): Promise<JsonObject> {
  const questions = new Map<unknown, AbortController>();
  const talk: Talk = peers.ask(
    home,
    topic,
    { upstream, any, method, params, party: packedParty(party), options: options && packedOptions(options) },
    {
      signal: options?.signal,
      heard: (said) => {
        const { notice, question, withdrawn } = said;
        if (isObject(notice)) {
          // Sealed by the replica that got it from `onNotice` itself.
          options?.onNotice?.(notice as unknown as RpcNotification);
        } else if (isObject(question)) {
          void answerTo(question, options, questions).then((answer) => talk.say({ answer }));
        } else {
          questions.get(withdrawn)?.abort();
        }
      },
    },
  );
  talk.signal.addEventListener('abort', () => {
    for (const controller of questions.values()) {
      controller.abort();
    }
  });
  return talk.answer;
}

/** The upstreams of another replica. */
export function fleetAt(peers: Peers): (home: string | undefined) => Pick<Fleet, 'call'> | undefined {
  return (home) =>
    peers.isOther(home)
      ? {
          call: (upstream, method, params, options, party) =>
            askOwn(peers, home, { upstream, any: false, method, params, options, party }, SHARED_CALL),
        }
      : undefined;
}

/** One answer to a question of the server, for the replica that it is connected to. */
async function answerTo(
  { key, method, params }: JsonObject,
  options: CallOptions | undefined,
  questions: Map<unknown, AbortController>,
): Promise<JsonObject> {
  const withdrawing = new AbortController();
  questions.set(key, withdrawing);
  try {
    if (options?.onQuestion === undefined) {
      throw new GatewayError('QUESTION_REFUSED');
    }
    const question = { method: String(method), params: isObject(params) ? params : undefined };
    return { key, result: await options.onQuestion({ ...question, signal: withdrawing.signal }) };
  } catch (thrown) {
    return { key, failure: packFailure(thrown) };
  } finally {
    questions.delete(key);
  }
}

export interface CallsServed {
  readonly fleet: Pick<Fleet, 'onOwn' | 'call'>;
  /** Asks the client of a session while no call is under way. */
  readonly askAside: (sid: string, principal: string, question: Question) => Promise<JsonObject>;
}

/** Serves both topics. */
export function serveCalls(peers: Peers, served: CallsServed): void {
  const { fleet } = served;
  peers.serve(OWN_CALL, async (asked, talk) => fleet.onOwn(requestOf(asked, talk, served)));
  peers.serve(SHARED_CALL, async (asked, talk) => {
    const { upstream, method, params, options, party } = requestOf(asked, talk, served);
    if (method === undefined || options === undefined) {
      throw new GatewayError('INTERNAL', { logged: 'a call of another replica without a method' });
    }
    return fleet.call(upstream, method, params, options, party);
  });
}

/**
 * A request of another replica, whose notices and questions go there. Throws TOKEN_INVALID where the sign-in of its user
 * has ended meanwhile.
 */
function requestOf(asked: JsonObject, talk: Talk, { askAside }: CallsServed): OwnRequest {
  const party = unpackedParty(asked['party'], askAside);
  const waiting = new Map<unknown, (answer: JsonObject) => void>();
  talk.listen(({ answer }) => {
    if (isObject(answer)) {
      waiting.get(answer['key'])?.(answer);
    }
  });
  let asking = 0;
  const onQuestion = ({ method, params, signal }: Question): Promise<JsonObject> => {
    asking += 1;
    const key = asking;
    talk.say({ question: { key, method, params } });
    return new Promise((resolve, reject) => {
      const gone = () => settle(() => reject(new GatewayError('CANCELLED')));
      const withdraw = () => {
        talk.say({ withdrawn: key });
        gone();
      };
      const settle = (act: () => void) => {
        waiting.delete(key);
        signal.removeEventListener('abort', withdraw);
        talk.signal.removeEventListener('abort', gone);
        act();
      };
      waiting.set(key, ({ result, failure }) =>
        settle(() => (isObject(result) ? resolve(result) : reject(unpackFailure(failure)))),
      );
      signal.addEventListener('abort', withdraw, { once: true });
      talk.signal.addEventListener('abort', gone, { once: true });
    });
  };
  const { options, params } = asked;
  return {
    upstream: String(asked['upstream']),
    any: asked['any'] === true,
    method: stringAt(asked, 'method'),
    params: isObject(params) ? params : undefined,
    party,
    options: isObject(options)
      ? {
          // Packed by the other side from the same type.
          ...(options as unknown as CallOptions),
          signal: talk.signal,
          onNotice: (notice) => talk.say({ notice }),
          onQuestion: options['asks'] === true ? onQuestion : undefined,
        }
      : undefined,
  };
}

/** Infinity is none of JSON's numbers; nothing waits for so long either. */
const finite = (ms: number) => Math.min(ms, Number.MAX_SAFE_INTEGER);

function packedOptions(options: CallOptions): JsonObject {
  const { envelope, timeoutMs, totalMs, progress, repeatable, headers, onQuestion } = options;
  const times = { timeoutMs: finite(timeoutMs), totalMs: finite(totalMs) };
  return { envelope, ...times, progress, repeatable, headers, asks: onQuestion !== undefined };
}

function packedParty({ principal, session, era, info, capabilities }: Party): JsonObject {
  const { key, id, issuer, groups, scopes, expires, presented } = principal;
  const user = { key, id, issuer, groups, scopes, expires, presented: presented?.() };
  return { principal: user, session, era, info, capabilities };
}

function unpackedParty(packed: unknown, askAside: CallsServed['askAside']): Party {
  // Packed by the other side from the same type; nobody else can have sealed it.
  const { principal: user, ...rest } = packed as Omit<Party, 'principal' | 'question'> & {
    readonly principal: Omit<Principal, 'grant' | 'presented'> & { readonly presented?: string };
  };
  const { presented } = user;
  if (user.expires !== undefined && user.expires <= Date.now()) {
    throw new GatewayError('TOKEN_INVALID', { logged: 'it ended on its way to another replica' });
  }
  const principal = createPrincipal({
    ...user,
    issuer: user.issuer,
    expires: user.expires,
    presented: presented === undefined ? undefined : () => presented,
  });
  const { session } = rest;
  const question = async (asked: Question): Promise<JsonObject> => {
    if (session !== undefined) {
      return askAside(session, principal.key, asked);
    }
    if (asked.method === 'roots/list') {
      return { roots: [] };
    }
    throw new GatewayError('CAPABILITY_MISSING');
  };
  return { ...rest, session, principal, question };
}
