import { isObject, type JsonObject } from '../base/json.ts';
import { suggestions } from '../catalog/suggestions.ts';
import type { Settings } from '../config/settings.ts';
import type { Gateway } from '../gateway.ts';
import { type RpcErrorObject, type RpcNotification, request } from '../protocol/json-rpc.ts';
import { parseData } from '../protocol/json-text.ts';
import { whileConnected } from './connected.ts';
import { readableResult } from './content.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { jsonFault } from './json-fault.ts';
import { type GlobalOptions, openGateway } from './open.ts';
import { troubleLine, troublesOf } from './reach.ts';
import { forTerminal, oneLine } from './text.ts';

export interface CallOptions extends GlobalOptions {
  readonly json?: boolean;
}

/** What is called: a name in either style, and its arguments as JSON text; `-` reads them from stdin. */
export interface Wanted {
  readonly name: string;
  readonly args: string;
}

type Answer = { readonly result: JsonObject } | { readonly error: RpcErrorObject };

/**
 * `call`: calls one tool and prints what it answers. Exit code 1 where the tool or the protocol says it failed, 2 where
 * the arguments are not a JSON object: then nothing is started.
 */
export async function call(wanted: Wanted, options: CallOptions, io: Io): Promise<ExitCode> {
  const args = argumentsFrom(wanted.args === '-' ? await io.input() : wanted.args);
  if ('wrong' in args) {
    io.err(`error: ${args.wrong}\n`);
    return EXIT.usage;
  }
  const { gateway, settings } = await openGateway(options, io, 'throwaway');
  return whileConnected(gateway, io, async (signal) => {
    const answer = await ask(gateway, wanted.name, args.value, { io, signal });
    if (signal.aborted) {
      return EXIT.failed;
    }
    if ('error' in answer) {
      io.err(complaint(answer.error, wanted.name, gateway, settings.naming.style));
    }
    return show(answer, options, io);
  });
}

type Arguments = { readonly value: JsonObject } | { readonly wrong: string };

function argumentsFrom(text: string): Arguments {
  let value: unknown;
  try {
    value = parseData(text);
  } catch (thrown) {
    const fault = jsonFault(text);
    const where = fault === undefined ? '' : `line ${fault.line}, column ${fault.column}: `;
    const why = fault?.message ?? (thrown instanceof Error ? thrown.message : 'it cannot be read');
    return { wrong: `the arguments are not valid JSON: ${where}${why}` };
  }
  return isObject(value) ? { value } : { wrong: 'the arguments must be a JSON object, such as {"a": 1}' };
}

async function ask(
  gateway: Gateway,
  name: string,
  args: JsonObject,
  around: { readonly io: Io; readonly signal: AbortSignal },
): Promise<Answer> {
  const { io, signal } = around;
  const message = request(1, 'tools/call', { name, arguments: args, _meta: { progressToken: 1 } });
  const notify = (notice: RpcNotification) => {
    if (notice.method === 'notifications/progress') {
      io.err(progressLine(notice));
    }
  };
  const reply = await gateway.relay.handle(message, { ...gateway.ownContext(signal), notify });
  return parseData(reply.json) as Answer;
}

function progressLine({ params }: RpcNotification): string {
  const { progress, total, message } = params ?? {};
  const done = total === undefined ? `${progress}` : `${progress}/${total}`;
  return `progress ${oneLine(typeof message === 'string' ? `${done} ${message}` : done)}\n`;
}

/** A protocol error in words; for a name that nobody offers also those that were likely meant, and who is missing. */
function complaint(
  error: RpcErrorObject,
  name: string,
  gateway: Gateway,
  style: Settings['naming']['style'],
): string {
  const lines = [`error ${error.code}: ${oneLine(error.message)}`];
  const catalog = gateway.store.current;
  if (catalog.tool(name) === undefined) {
    const near = suggestions(name, catalog.entries.tools, style);
    if (near.length > 0) {
      lines.push(`Did you mean ${near.map((each) => `"${oneLine(each)}"`).join(' or ')}?`);
    }
    lines.push(...troublesOf(gateway).map(troubleLine));
  }
  return `${lines.join('\n')}\n`;
}

/** The whole answer as JSON on stdout; as text a failure goes to stderr, so that stdout only ever holds an answer. */
function show(answer: Answer, { json }: CallOptions, io: Io): ExitCode {
  const failed = 'error' in answer || answer.result['isError'] === true;
  if (json) {
    const whole = 'error' in answer ? { error: answer.error } : answer.result;
    io.out(`${JSON.stringify(whole, null, 2)}\n`);
  } else if (!('error' in answer)) {
    const text = readableResult(answer.result);
    const write = failed ? io.err : io.out;
    write(`${io.columns === undefined ? text : forTerminal(text)}\n`);
  }
  return failed ? EXIT.failed : EXIT.ok;
}
