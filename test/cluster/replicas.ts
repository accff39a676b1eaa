import { randomBytes } from 'node:crypto';
import { MemoryState, SharedMemory } from '../../src/state/memory-state.ts';
import { type GatewayConfig, type StartedGateway, startGateway } from '../kit/start-gateway.ts';
import { startRoundRobin } from './round-robin.ts';

/** Several gateways in this process that share one state, each as its own, and all behind a balancer. */
export interface Replicas extends AsyncDisposable {
  readonly each: readonly StartedGateway[];
  /** `http://127.0.0.1:<port>/mcp` of the balancer. */
  readonly url: string;
  readonly port: number;
}

/** All of them as one: whoever uses it does not notice that each request comes to another. */
export function asOne({ each, url, port, ...rest }: Replicas): StartedGateway {
  const [first] = each;
  if (first === undefined) {
    throw new Error('there is no replica');
  }
  return {
    url,
    port,
    origin: `http://127.0.0.1:${port}`,
    gateway: first.gateway,
    get logged() {
      return each.flatMap(({ logged }) => logged);
    },
    reload: (config) => each.map((replica) => replica.reload(config))[0] ?? first.reload(config),
    async restart() {
      await Promise.all(each.map((replica) => replica.restart()));
    },
    close: async () => rest[Symbol.asyncDispose](),
    ...rest,
  };
}

export async function startReplicas(count: number, config: GatewayConfig): Promise<Replicas> {
  await using scope = new AsyncDisposableStack();
  const memory = new SharedMemory();
  const sealingKey = randomBytes(32).toString('base64');
  const each: StartedGateway[] = [];
  for (let at = 0; at < count; at += 1) {
    const state = () => new MemoryState(memory);
    each.push(scope.use(await startGateway({ sealingKey, ...config }, undefined, state)));
  }
  const balancer = scope.use(await startRoundRobin(each.map(({ port }) => port)));
  const all = scope.move();
  return {
    each,
    port: balancer.port,
    url: `http://127.0.0.1:${balancer.port}/mcp`,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
