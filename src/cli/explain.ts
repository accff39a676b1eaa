import { GatewayError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Gaze } from '../relay/explain-options.ts';
import type { Explanation } from '../relay/explanation.ts';
import { strictestOf } from '../vetting/quarantine.ts';
import { whileConnected } from './connected.ts';
import { explanationText } from './explain-text.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { lockOf } from './lock-file.ts';
import { type GlobalOptions, openGateway } from './open.ts';
import { askRunning, codeOf, type RunningOptions } from './running.ts';
import { type AnyFinding, vetted } from './vetted.ts';

export interface ExplainCommandOptions extends GlobalOptions, Partial<Gaze>, Partial<RunningOptions> {
  readonly json?: boolean;
}

/**
 * `explain`: what a name leads to, for whom, and why. Starts the upstreams of the configuration, or asks a gateway that
 * runs. Exit code 1 where a call would not get through, or where nobody can be asked; 2 where it cannot be asked so.
 */
export async function explain(name: string, options: ExplainCommandOptions, io: Io): Promise<ExitCode> {
  const gaze = {
    as: options.as,
    view: options.view,
    names: options.names,
    kind: options.kind,
  };
  return options.url === undefined
    ? explainHere(name, gaze, options, io)
    : explainThere(name, gaze, { ...options, url: options.url }, io);
}

async function explainHere(
  name: string,
  gaze: Gaze,
  options: ExplainCommandOptions,
  io: Io,
): Promise<ExitCode> {
  const { gateway, settings } = await openGateway(options, io, 'throwaway');
  const { operations } = gateway;
  try {
    // Whoever or whatever is asked for in vain is so before anything is started.
    await operations.explain(name, gaze);
  } catch (thrown) {
    await gateway.close();
    if (thrown instanceof GatewayError && thrown.code === 'QUERY_INVALID') {
      io.err(`error: ${thrown.message}\n`);
      return EXIT.usage;
    }
    throw thrown;
  }
  return whileConnected(gateway, io, async () => {
    const approvals = { lock: lockOf(options.config), onChange: strictestOf(settings) };
    return show(withFindings(await operations.explain(name, gaze), vetted(gateway, approvals)), options, io);
  });
}

async function explainThere(
  name: string,
  gaze: Gaze,
  options: ExplainCommandOptions & RunningOptions,
  io: Io,
): Promise<ExitCode> {
  const told = await askRunning('explain', { name, ...gaze }, options, io);
  if ('wrong' in told) {
    io.err(`error: ${told.wrong}\n`);
    return codeOf(told);
  }
  if (!isExplanation(told.value)) {
    io.err('error: the answer of the gateway cannot be read\n');
    return EXIT.failed;
  }
  return show(told.value, options, io);
}

/** A gateway that lives for a moment has not looked at what its servers say. */
function withFindings(explanation: Explanation, found: readonly AnyFinding[]): Explanation {
  const { route, findings } = explanation;
  const about = found.filter(
    ({ upstream, kind, item }) =>
      upstream === route?.upstream && kind === route.kind && item === route.original,
  );
  const known = new Set(findings.map((each) => JSON.stringify(each)));
  return {
    ...explanation,
    findings: [...findings, ...about.filter((each) => !known.has(JSON.stringify(each)))],
  };
}

/** Of another release there may be more in it, or less: what the text begins with has to be there. */
function isExplanation(value: unknown): value is Explanation {
  return isObject(value) && typeof value['says'] === 'string' && isObject(value['asked']);
}

function show(explanation: Explanation, { json }: ExplainCommandOptions, io: Io): ExitCode {
  io.out(
    json === true ? `${JSON.stringify(explanation, null, 2)}\n` : explanationText(explanation, io.columns),
  );
  return explanation.verdict === 'usable' ? EXIT.ok : EXIT.failed;
}
