import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/base/json.ts';
import { createLines, type Lines } from './lines.ts';
import type { Command } from './peers.ts';

/** Longest wait for a peer to say that it is ready: an interpreter with a large SDK, on a busy machine. */
const START_TIMEOUT = 60_000;
/** Time for it to close what it has open. */
const END_TIMEOUT = 5_000;

/** A peer's process: JSON lines in and out. It ends when its stdin does. */
export interface PeerProcess extends AsyncDisposable {
  /** The line it began with. */
  readonly first: JsonObject;
  readonly lines: Lines;
  send(line: JsonObject): void;
}

export async function startPeer({ command, args }: Command): Promise<PeerProcess> {
  const child = spawn(command, args, { stdio: 'pipe' });
  const lines = createLines(args.join(' '));
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = `${complaints}${text}`.slice(-4000);
  });
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  // A peer that is gone is told by what is missing after that.
  child.stdin.on('error', () => undefined);
  const gone = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      lines.end(String(error));
      resolve();
    });
    child.once('close', (code) => {
      lines.end(`exit ${code}: ${complaints}`);
      resolve();
    });
  });
  const close = async () => {
    child.stdin.end();
    const late = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT);
    await gone;
    clearTimeout(late);
  };
  try {
    return {
      first: await lines.until(() => lines.all[0], 'its first line', START_TIMEOUT),
      lines,
      send: (line) => {
        child.stdin.write(`${JSON.stringify(line)}\n`);
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
