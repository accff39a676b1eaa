import type { JsonObject } from '../../src/base/json.ts';
import type { Kind } from '../../src/protocol/model.ts';
import type { Commands } from '../fixtures/upstreams/scripted-peer.ts';
import type { Script } from '../fixtures/upstreams/scripted-script.ts';
import type { Recorded, Recorder, UntilOptions } from './recorder.ts';

export type { Script } from '../fixtures/upstreams/scripted-script.ts';

/** A running scripted upstream in the hands of a test; the same for a child process and for an HTTP server. */
export interface ScriptedUpstream
  extends Commands,
    Pick<Recorder, 'received' | 'count' | 'untilReceived' | 'mark'>,
    AsyncDisposable {
  readonly id: string;
  /** Its entry in the gateway's config, to be put under `upstreams.<id>`. */
  readonly config: JsonObject;
  /** The script as it is now. */
  readonly script: Script;
  /** How often it was started: child processes spawned, or times the HTTP server listened. */
  readonly starts: number;
  /** Replace or grow a list. Nothing is announced: call `notify` for that. */
  setTools(tools: readonly unknown[]): Promise<void>;
  setList(kind: Kind, items: readonly unknown[]): Promise<void>;
  addTool(tool: unknown): Promise<void>;
  /** Resolves when a notice would be heard: stdio after `initialized`, HTTP with a GET stream, modern while listening. */
  untilListening(options?: UntilOptions): Promise<Recorded>;
}

/** The members that are made of `change` and the recorder, for either filling. */
export function listCommands(
  current: () => Script,
  change: Commands['change'],
): Pick<ScriptedUpstream, 'setTools' | 'setList' | 'addTool'> {
  return {
    setTools: (tools) => change({ tools }),
    setList: (kind, items) => change({ [kind]: items }),
    addTool: (tool) => change({ tools: [...(current().tools ?? []), tool] }),
  };
}
