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
  /** The shared state is lost for a moment, and with it whatever is under way between them. */
  cut(): void;
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

/**
 * To have all of them share a real server: `PATCHBAY_TEST_REDIS=redis://127.0.0.1:6379`. By hand: what one tells the others
 * takes a moment then, and some tests demand it of the very next request.
 */
const REDIS = process.env['PATCHBAY_TEST_REDIS'];

/** Can be lost. */
class ShakyState extends MemoryState {
  readonly #told: ((reached: boolean) => void)[] = [];

  override onReach(run: (reached: boolean) => void): void {
    this.#told.push(run);
    super.onReach(run);
  }

  cut(): void {
    for (const reached of [false, true]) {
      for (const run of this.#told) {
        run(reached);
      }
    }
  }
}

/** `config`: of all, or of each by its place. */
export async function startReplicas(
  count: number,
  config: GatewayConfig | ((at: number) => GatewayConfig),
): Promise<Replicas> {
  await using scope = new AsyncDisposableStack();
  const memory = new SharedMemory();
  const prefix = randomBytes(9).toString('hex');
  const configAt = typeof config === 'function' ? config : () => config;
  const sealingKey = randomBytes(32).toString('base64');
  const each: StartedGateway[] = [];
  const states: ShakyState[] = [];
  for (let at = 0; at < count; at += 1) {
    const state = () => {
      const begun = new ShakyState(memory);
      states.push(begun);
      return begun;
    };
    const own = { sealingKey, ...configAt(at) };
    each.push(
      scope.use(
        await (REDIS === undefined
          ? startGateway(own, undefined, state)
          : startGateway({ ...own, state: { type: 'redis', url: REDIS, prefix } })),
      ),
    );
  }
  const balancer = scope.use(await startRoundRobin(each.map(({ port }) => port)));
  const all = scope.move();
  return {
    each,
    port: balancer.port,
    url: `http://127.0.0.1:${balancer.port}/mcp`,
    cut: () => states.forEach((state) => void state.cut()),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
