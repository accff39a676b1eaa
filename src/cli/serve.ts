import { MCP, publicBase, resourceUrl } from '../access/resource.ts';
import type { Gateway } from '../gateway.ts';
import type { Readiness } from '../observe/status.ts';
import { compileEarly, growFreely } from './engine.ts';
import { giveBackLater } from './give-back.ts';
import { EXIT, type ExitCode, type Io } from './io.ts';
import { type GlobalOptions, openGateway } from './open.ts';
import { outcomeJson, outcomeText, reloadWhenAsked } from './reload.ts';
import { counted } from './text.ts';

export interface ServeOptions extends GlobalOptions {
  readonly json?: boolean;
  /** Whether the files of the configuration are watched. */
  readonly watch?: boolean;
}

/**
 * `serve`: runs the gateway until it is told to end; reads its configuration again when that changes, or at SIGHUP. Exit
 * code 1 where the port cannot be bound.
 */
export async function serve(options: ServeOptions, io: Io): Promise<ExitCode> {
  growFreely();
  compileEarly();
  let hungUp = false;
  // By itself it would end a process that is still starting.
  io.onHangup(() => {
    hungUp = true;
  });
  const opened = await openGateway(options, io);
  const { settings, gateway, log } = opened;
  const stopped = io.stopped();
  const port = await gateway.listen().catch((thrown: unknown) => {
    log.fatal({ err: thrown, host: settings.listen.host, port: settings.listen.port }, 'cannot listen');
    return undefined;
  });
  if (port === undefined) {
    await gateway.close();
    return EXIT.failed;
  }
  io.serving();
  const url = resourceUrl(publicBase(settings.listen, port), MCP);
  log.info({ url, upstreams: gateway.fleet.ids.length }, 'listening');
  if (gateway.fleet.ids.length === 0) {
    log.warn('no upstream is configured: there is nothing to offer');
  }
  const found = gateway
    .settled()
    .then(() => io.out(options.json ? asJson(url, gateway) : asText(url, gateway)));
  const stopReloads = reloadWhenAsked(opened, io, {
    watch: options.watch,
    atOnce: hungUp,
    done: (outcome) => io.out(options.json ? outcomeJson(outcome) : outcomeText(outcome)),
  });
  const keepMemory = giveBackLater();
  const signal = await stopped;
  keepMemory();
  stopReloads();
  log.info({ signal }, 'closing');
  await gateway.close();
  await found;
  return EXIT.ok;
}

function asJson(url: string, gateway: Gateway): string {
  const { status, upstreams } = gateway.readiness();
  return `${JSON.stringify({ url, status, upstreams })}\n`;
}

/** What a person needs next: the address, what is behind it, and the line for their IDE. */
function asText(url: string, gateway: Gateway): string {
  return [
    '',
    `Patchbay serves ${url}`,
    '',
    ...upstreamLines(gateway.readiness()),
    '',
    'Add it to an IDE that takes JSON (most do, under "mcpServers"; VS Code under "servers"):',
    `  "patchbay": { "type": "http", "url": "${url}" }`,
    'Claude Code:',
    `  claude mcp add --transport http patchbay ${url}`,
    '',
    '',
  ].join('\n');
}

/** One line an upstream: state, what it offers, and what is wrong. */
function upstreamLines(readiness: Readiness): readonly string[] {
  const entries = Object.entries(readiness.upstreams);
  const width = Math.max(0, ...entries.map(([id]) => id.length));
  return entries.map(([id, { state, era, tools, prompts, resources, templates, lastError }]) => {
    const offers = [
      counted(tools, 'tools'),
      counted(prompts, 'prompts'),
      counted(resources, 'resources'),
      counted(templates, 'templates'),
    ].join(', ');
    const shown = state === 'ready' || state === 'stale' ? [`${offers} (${era})`] : [];
    const about = [...shown, ...(lastError === undefined ? [] : [lastError])].join('; ');
    return `  ${id.padEnd(width)}  ${state.padEnd(10)}  ${about}`.trimEnd();
  });
}
