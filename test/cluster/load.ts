import type { AgentOptions } from '../kit/agent.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';

export interface Load {
  /** Calls that were answered with their result. */
  readonly served: number;
  /** Those that were not: what came instead. */
  readonly failed: readonly string[];
  /** Resolves when so many more were served. */
  untilServed(more: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Clients of both eras, each of a user of their own and with one call after the other under way, until they are stopped.
 * They open a connection for each request: a balancer that is told something else closes those that it keeps, also one
 * that a request has just begun on.
 */
export async function startLoad(url: string, tool: string, clients: readonly AgentOptions[]): Promise<Load> {
  let served = 0;
  let running = true;
  const failed: string[] = [];
  const waiting: { readonly at: number; readonly go: () => void }[] = [];
  const agents = await Promise.all(
    clients.map((options, at) =>
      (at % 2 === 0 ? connectLegacy : connectModern)(url, {
        ...options,
        headers: { ...options.headers, connection: 'close' },
      }),
    ),
  );
  const loops = agents.map(async (agent, at) => {
    for (let n = 0; running; n += 1) {
      const words = `${at} ${n}`;
      try {
        const answer = await agent.request('tools/call', { name: tool, arguments: { words } });
        if (JSON.stringify(answer.result ?? {}).includes(words) && answer.result?.['isError'] !== true) {
          served += 1;
        } else {
          failed.push(`${agent.era} ${answer.status} ${answer.text}`);
        }
      } catch (thrown) {
        failed.push(`${agent.era} ${String(thrown)}`);
      }
      for (const each of waiting.filter(({ at: due }) => due <= served)) {
        waiting.splice(waiting.indexOf(each), 1);
        each.go();
      }
      // Below the rate that one user may have.
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
    await agent[Symbol.asyncDispose]();
  });
  return {
    get served() {
      return served;
    },
    failed,
    untilServed: (more) => new Promise((go) => waiting.push({ at: served + more, go })),
    async stop() {
      running = false;
      await Promise.all(loops);
    },
  };
}
