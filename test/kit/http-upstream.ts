import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createScriptedCore, type ScriptedCore } from '../fixtures/upstreams/scripted-core.ts';
import { createHttpFilling, type HttpFilling } from '../fixtures/upstreams/scripted-http.ts';
import type { Host } from '../fixtures/upstreams/scripted-peer.ts';
import type { Script } from '../fixtures/upstreams/scripted-script.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { listCommands, type ScriptedUpstream } from './upstream.ts';

/** A scripted upstream over HTTP, inside the test process. */
export interface ScriptedHttp extends ScriptedUpstream {
  readonly url: string;
  /** Address of the 2024-11-05 stream. */
  readonly sseUrl: string;
  readonly port: number;
  /** Ids of the legacy sessions that live now. */
  readonly sessions: readonly string[];
  /** Connections that are open now. */
  readonly sockets: number;
  /** Every session id is answered 404 from now on, and its streams end. */
  forgetSessions(): void;
  /** Cuts every open SSE stream; sessions live on. */
  dropStreams(): void;
  /** Cuts every connection without notice; the server goes on listening, sessions live on. */
  dropConnections(): void;
  /** Stops listening and cuts every connection: the port refuses. */
  kill(): Promise<void>;
  /** Kills it if it lives, then listens again on the same port with no session left, and with a changed script. */
  restart(patch?: Partial<Script>): Promise<void>;
}

interface Running {
  readonly server: Server;
  readonly sockets: Set<Socket>;
  readonly core: ScriptedCore;
  readonly filling: HttpFilling;
}

/** Starts it on a free loopback port. Its config entry is `{ url }` plus what `config` adds. */
export async function startHttpUpstream(
  script: Script = {},
  config: Record<string, unknown> = {},
): Promise<ScriptedHttp> {
  const id = script.id ?? 'scripted';
  const recorder = createRecorder(id);
  let kept = script;
  let starts = 1;
  let running = await listen(kept, recorder, 0);
  let alive = true;
  const { port } = running.server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  const url = `${base}${script.http?.path ?? '/mcp'}`;
  const sseUrl = `${base}${script.http?.ssePath ?? '/sse'}`;

  const current = () => running.core.script;
  const kill = async () => {
    if (alive) {
      alive = false;
      kept = current();
      await stop(running);
    }
  };
  const change: ScriptedHttp['change'] = (patch) => running.core.change(patch);

  return {
    id,
    url,
    sseUrl,
    port,
    config: { url: script.http?.sse === 'only' ? sseUrl : url, ...config },
    get script() {
      return current();
    },
    get starts() {
      return starts;
    },
    get sessions() {
      return [...running.filling.sessions.keys()];
    },
    get sockets() {
      return running.sockets.size;
    },
    received: recorder.received,
    count: recorder.count,
    untilReceived: recorder.untilReceived,
    mark: recorder.mark,
    untilListening: (options) => recorder.untilReceived(['$GET', 'subscriptions/listen'], undefined, options),
    change,
    ...listCommands(current, change),
    notify: (notice, options) => running.core.notify(notice, options),
    push: (message) => running.core.push(message),
    release: (label) => running.core.release(label),
    endListens: (how) => running.core.endListens(how),
    forgetSessions: () => running.filling.forgetSessions(),
    dropStreams: () => running.filling.dropStreams(),
    dropConnections: () => cut(running.sockets),
    kill,
    async restart(patch = {}) {
      await kill();
      running = await listen({ ...kept, ...patch }, recorder, port);
      alive = true;
      starts += 1;
    },
    [Symbol.asyncDispose]: kill,
  };
}

async function listen(script: Script, recorder: Recorder, port: number): Promise<Running> {
  const sockets = new Set<Socket>();
  const host: Host = {
    pid: process.pid,
    record: (entry) => recorder.add(entry),
    crash: () => void stop(running),
    stderr: () => Promise.resolve(),
  };
  const core = createScriptedCore(script, host);
  const filling = createHttpFilling(core);
  const server = createServer((request, response) => {
    // A body that breaks off cannot be answered.
    filling.handle(request, response).catch(() => response.destroy());
  });
  // Keep-alive ends only by kill: a test that wants it shorter says so through a fault.
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const running = { server, sockets, core, filling };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return running;
}

function stop({ server, sockets }: Running): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    cut(sockets);
  });
}

function cut(sockets: Iterable<Socket>): void {
  for (const socket of sockets) {
    socket.destroy();
  }
}
