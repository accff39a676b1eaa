import { amountText } from '../config/units.ts';
import { type Draft, wordingsOf } from './draft.ts';
import { needed, type Wording, written } from './wording.ts';

/** One upstream as the configuration has it. */
export interface Imported {
  readonly id: string;
  /** undefined where it could not be imported: then the remarks say why. */
  readonly entry: Readonly<Record<string, unknown>> | undefined;
  readonly remarks: readonly string[];
  /** Variables without which it does not start. */
  readonly needs: readonly string[];
}

/** Where the configuration has another bound, a call that may last longer needs a longer total; ms. */
const DEFAULT_TOTAL = 600_000;

export function upstreamOf(id: string, draft: Draft): Imported {
  const { remarks, command, url } = draft;
  const needs = [...new Set(wordingsOf(draft).flatMap(([, text]) => needed(text)))];
  if (command === undefined && url === undefined) {
    return { id, entry: undefined, remarks, needs: [] };
  }
  const entry = {
    ...(command === undefined ? {} : process(draft, command)),
    ...(url === undefined ? {} : address(draft, url)),
    ...(draft.off ? { enabled: false } : {}),
    // In a host one server that cannot start keeps no other from it.
    ...(needs.length > 0 ? { optional: true } : {}),
    ...timeouts(draft),
    ...tools(draft),
  };
  return { id, entry, remarks, needs: draft.off ? [] : needs };
}

function process({ args, env, passEnv, cwd }: Draft, command: Wording): object {
  return {
    command: written(command),
    ...(args.length === 0 ? {} : { args: args.map(written) }),
    ...(env.size === 0 ? {} : { env: texts(env) }),
    ...(passEnv.length === 0 ? {} : { passEnv }),
    ...(cwd === undefined ? {} : { cwd: written(cwd) }),
  };
}

function address({ headers, transport }: Draft, url: Wording): object {
  return {
    url: written(url),
    ...(transport === undefined ? {} : { transport }),
    ...(headers.size === 0 ? {} : { headers: texts(headers) }),
  };
}

/** A `Map`, which keeps what came as `__proto__`. */
function texts(wordings: ReadonlyMap<string, Wording>): ReadonlyMap<string, string> {
  return new Map([...wordings].map(([name, text]) => [name, written(text)]));
}

function timeouts({ call, connect }: Draft): object {
  if (call === undefined && connect === undefined) {
    return {};
  }
  const duration = (ms: number) => amountText('duration', ms);
  return {
    timeouts: {
      ...(connect === undefined ? {} : { connect: duration(connect) }),
      ...(call === undefined ? {} : { call: duration(call) }),
      ...(call === undefined || call <= DEFAULT_TOTAL ? {} : { total: duration(call) }),
    },
  };
}

function tools({ allow, deny }: Draft): object {
  if (allow === undefined && deny.length === 0) {
    return {};
  }
  return { tools: { ...(allow === undefined ? {} : { allow }), ...(deny.length === 0 ? {} : { deny }) } };
}
