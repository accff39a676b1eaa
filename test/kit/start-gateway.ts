import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createLog, type Log } from '../../src/base/log.ts';
import type { SettingsDiff } from '../../src/config/diff.ts';
import { type Loaded, parseSettings } from '../../src/config/load.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway.ts';
import type { State } from '../../src/state/state.ts';
import { dropKept } from './agent-base.ts';

/** A configuration as its file has it, before defaults: what `upstream.config` of the kit goes into. */
export interface GatewayConfig {
  readonly upstreams: Readonly<Record<string, unknown>>;
  readonly [section: string]: unknown;
}

export interface StartedGateway extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/mcp` */
  readonly url: string;
  readonly origin: string;
  readonly port: number;
  readonly gateway: Gateway;
  /** What it logged, as parsed lines. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  /** Gives it another configuration, as a change of its file does; key and port stay. */
  reload(config: GatewayConfig): SettingsDiff;
  /** Ends it and starts another with the same configuration, key and port, as a redeploy does. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A real gateway in this process, on a free loopback port, its configuration read as a file would be. `lock`: what is
 * approved, where something is. `state`: what it shares with other gateways; asked for at each start.
 */
export async function startGateway(
  config: GatewayConfig,
  lock?: GatewayOptions['lock'],
  state?: () => State,
): Promise<StartedGateway> {
  const lines: Record<string, unknown>[] = [];
  const key = randomBytes(32).toString('base64');
  const text = stringify({ sealingKey: key, ...config });
  const begin = (port: number) => start(text, port, { log: recording(lines), lock, state });
  let running = await begin(0);
  return {
    get url() {
      return `http://127.0.0.1:${running.port}/mcp`;
    },
    get origin() {
      return `http://127.0.0.1:${running.port}`;
    },
    get port() {
      return running.port;
    },
    get gateway() {
      return running.gateway;
    },
    logged: lines,
    reload(next) {
      const { settings } = settingsOf(stringify({ sealingKey: key, ...next }), running.configured);
      return running.gateway.reload(settings);
    },
    async restart() {
      await running.gateway.close();
      dropKept();
      running = await begin(running.port);
    },
    close: () => running.gateway.close(),
    [Symbol.asyncDispose]: () => running.gateway.close(),
  };
}

function settingsOf(text: string, port: number): Loaded {
  return parseSettings(text, {
    file: join(tmpdir(), 'gateway.yaml'),
    env: process.env,
    readFile: () => '',
    overrides: { port },
  });
}

async function start(
  text: string,
  port: number,
  { log, lock, state }: { log: Log; lock: GatewayOptions['lock']; state: (() => State) | undefined },
): Promise<{ gateway: Gateway; port: number; configured: number }> {
  const { settings } = settingsOf(text, port);
  const sealingKey = Buffer.from(settings.sealingKey ?? '', 'base64');
  const gateway = createGateway({
    settings,
    sealingKey,
    release: '0.0.0-test',
    log,
    ...(lock === undefined ? {} : { lock }),
    ...(state === undefined ? {} : { state: state() }),
  });
  return { gateway, port: await gateway.listen(), configured: port };
}

function recording(lines: Record<string, unknown>[]): Log {
  const write = (line: string) => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
  };
  return process.env['PATCHBAY_TEST_LOG'] === undefined
    ? createLog({ level: 'debug', readable: false, destination: { write } })
    : createLog({ level: 'debug', readable: true });
}
