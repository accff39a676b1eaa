import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sdk2Command, startSdk2Http } from '../fixtures/upstreams/sdk2-server.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { connectPipe } from '../kit/pipe-agent.ts';
import { everythingStdio, filesystemStdio, memoryStdio, startEverythingHttp } from '../kit/real-servers.ts';
import type { SdkTarget } from '../kit/sdk-clients.ts';
import { type Log, type Plan, pipeVisitor, rawVisitor, tour } from './parity-steps.ts';

/** A real server, running or ready to be started by whoever connects. */
export interface Server extends AsyncDisposable {
  readonly target: SdkTarget;
  /** Its entry in the config of the gateway. */
  readonly config: Record<string, unknown>;
  readonly plan: Plan;
  /** The plan, followed directly by a client that hides nothing; absent where there is none for its transport. */
  readonly rawTour?: () => Promise<Log>;
}

interface Case {
  readonly name: string;
  readonly era: 'modern' | 'legacy';
  readonly start: () => Promise<Server>;
}

/** What a client of the SDK v2 fixture must be able to do. */
export const ABLE = {
  capabilities: { elicitation: { form: {} } },
  answers: { 'elicitation/create': () => ({ action: 'accept', content: { sure: true } }) },
};

const SDK2: Plan = {
  calls: [
    ['text', { words: 'hi — é🎉' }],
    ['text', { wrong: 1 }],
    ['add', { a: 1, b: 2 }],
    ['add', { a: 'x' }],
    ['picture'],
  ],
  prompts: [['greet', { name: 'Ada' }], ['greet']],
  reads: ['notes://readme', 'notes://by-id/7', 'notes://nowhere'],
  completions: [[{ type: 'ref/resource', uri: 'notes://by-id/{id}' }, 'id', '4']],
  progress: { call: ['steps'], steps: [1, 2, 3].map((progress) => ({ progress, total: 3 })) },
};

const EVERYTHING: Plan = {
  calls: [
    ['echo', { message: 'hi — é🎉' }],
    ['echo', { message: 7 }],
    ['get-sum', { a: 1, b: 2 }],
    ['get-tiny-image'],
    ['get-annotated-message', { messageType: 'error', includeImage: true }],
    ['get-resource-links', { count: 4 }],
    ['get-structured-content', { location: 'Chicago' }],
  ],
  prompts: [
    ['simple-prompt'],
    ['args-prompt', { city: 'Ulm', state: 'BW' }],
    ['completable-prompt', { department: 'Sales', name: 'David' }],
    ['args-prompt'],
  ],
  reads: ['demo://resource/static/document/features.md', 'demo://resource/static/document/none.md'],
  completions: [
    [{ type: 'ref/prompt', name: 'completable-prompt' }, 'department', 'S'],
    [{ type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' }, 'resourceId', '1'],
  ],
  progress: {
    call: ['trigger-long-running-operation', { duration: 0.1, steps: 3 }],
    steps: [1, 2, 3].map((progress) => ({ progress, total: 3 })),
  },
};

export const SERVERS: readonly Case[] = [
  {
    name: 'a modern SDK v2 server over HTTP',
    era: 'modern',
    async start() {
      const server = await startSdk2Http('modern');
      const { url } = server;
      const plan: Plan = { ...SDK2, calls: [...SDK2.calls, ['confirm']] };
      return {
        target: { url },
        config: { url },
        plan,
        async rawTour() {
          await using agent = await connectModern(url, ABLE);
          return await tour(rawVisitor(agent), plan);
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: 'a modern SDK v2 server over stdio',
    era: 'modern',
    start: async () => child('modern', sdk2Command('modern'), SDK2),
  },
  {
    name: 'server-everything over stdio',
    era: 'legacy',
    start: async () => child('legacy', everythingStdio(), EVERYTHING),
  },
  {
    name: 'server-everything over Streamable HTTP',
    era: 'legacy',
    async start() {
      const server = await startEverythingHttp();
      const { url } = server;
      return {
        target: { url },
        config: { url },
        plan: EVERYTHING,
        async rawTour() {
          await using agent = await connectLegacy(url);
          return await tour(rawVisitor(agent), EVERYTHING);
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: 'server-everything over the 2024-11-05 transport',
    era: 'legacy',
    async start() {
      const server = await startEverythingHttp('sse');
      const { url } = server;
      return {
        target: { sseUrl: url },
        config: { url },
        plan: EVERYTHING,
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: 'server-filesystem',
    era: 'legacy',
    async start() {
      const folder = await scratch();
      await writeFile(join(folder, 'note.txt'), 'one\ntwo — zwei\n');
      await writeFile(join(folder, 'pixel.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64'));
      const plan: Plan = {
        calls: [
          ['list_allowed_directories'],
          ['read_text_file', { path: join(folder, 'note.txt'), head: 1 }],
          ['read_media_file', { path: join(folder, 'pixel.png') }],
          ['read_text_file', { path: join(folder, 'none.txt') }],
          ['read_text_file', { path: '/etc/passwd' }],
        ],
      };
      return { ...child('legacy', filesystemStdio(folder), plan), ...gone(folder) };
    },
  },
  {
    name: 'server-memory',
    era: 'legacy',
    async start() {
      const folder = await scratch();
      // Ends as it began, since all clients share the one file.
      const plan: Plan = {
        calls: [
          ['create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['é🎉'] }] }],
          ['open_nodes', { names: ['Ada'] }],
          ['add_observations', { observations: [{ entityName: 'nobody', contents: ['x'] }] }],
          ['delete_entities', { entityNames: ['Ada'] }],
          ['read_graph'],
        ],
      };
      const command = memoryStdio();
      const env = { ...command.env, MEMORY_FILE_PATH: join(folder, 'graph.jsonl') };
      return { ...child('legacy', { ...command, env }, plan), ...gone(folder) };
    },
  },
];

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A server that each client starts for itself. */
function child(era: 'modern' | 'legacy', command: Command, plan: Plan): Server {
  return {
    target: command,
    config: { ...command },
    plan,
    async rawTour() {
      await using agent = await connectPipe(command, { era });
      return await tour(pipeVisitor(agent), plan);
    },
    async [Symbol.asyncDispose]() {},
  };
}

const scratch = () => mkdtemp(join(tmpdir(), 'parity-'));
const gone = (folder: string): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
});
