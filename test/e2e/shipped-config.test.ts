import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, textOf } from '../gates/repository.ts';
import { descendants, signal, untilAllGone } from '../kit/processes.ts';
import { connectSdk, type SdkFace } from '../kit/sdk-clients.ts';
import { startProgram } from './shipped.ts';

/** What `npm start` runs once everything is built. */
const [, ...start] = (JSON.parse(textOf('package.json')).scripts.start as string).split(' ');

/** One tool of each server of config/gateway.yaml, and what its answer must hold. */
const CALLS = [
  ['everything.echo', { message: 'through the gateway' }, 'Echo: through the gateway'],
  ['files.read_text_file', { path: join(ROOT, 'config/sample/welcome.md') }, '# Welcome'],
  ['memory.read_graph', {}, '"entities"'],
] as const;

async function listAndCall(client: SdkFace): Promise<void> {
  const names = (await client.listTools()).map(({ name }) => name);
  for (const [name, args, expected] of CALLS) {
    expect(names).toContain(name);
    const result = await client.callTool(name, args);
    expect(result['isError'] ?? false, JSON.stringify(result)).toBe(false);
    expect(JSON.stringify(result['content'])).toContain(JSON.stringify(expected).slice(1, -1));
  }
}

describe('what npm start serves', () => {
  it('says where it is and what it found, works for clients of both eras, and ends when told', async () => {
    await using program = await startProgram([...start, '--port', '0']);
    const url = await program.untilSaid(
      /^Patchbay serves (http:\/\/127\.0\.0\.1:\d+\/mcp)\n[\s\S]*claude mcp add .*\n/m,
    );
    for (const id of ['everything', 'files', 'memory']) {
      expect(program.out).toMatch(new RegExp(`^ +${id} +ready +[1-9]\\d* tools`, 'm'));
    }
    expect(program.out).toContain(`"patchbay": { "type": "http", "url": "${url}" }`);
    expect(program.out).toContain(`claude mcp add --transport http patchbay ${url}`);

    for (const label of ['v1', 'v2-auto', 'v2-modern'] as const) {
      await using client = await connectSdk(label, { url });
      await listAndCall(client);
    }

    const servers = descendants(program.pid);
    expect(servers.length).toBeGreaterThanOrEqual(3);
    signal(program.pid, 'SIGTERM');
    expect(await program.ended).toBe(0);
    await untilAllGone(servers);
  }, 90_000);
});
