import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Readings } from './exposition.ts';

/** How often the event loop is looked at, in ms. */
const RESOLUTION = 20;
const NS = 1e9;

/** What the process needs and how busy it is, under the names that everybody's dashboards know. */
export class ProcessReadings {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  #utilization = performance.eventLoopUtilization();

  constructor() {
    this.#delay.enable();
  }

  get readings(): Readings {
    const memory = (of: 'rss' | 'heapUsed' | 'external') => () => [[process.memoryUsage()[of]] as const];
    return {
      patchbay_event_loop_delay_seconds: () => this.#delays(),
      patchbay_event_loop_utilization: () => {
        const before = this.#utilization;
        this.#utilization = performance.eventLoopUtilization();
        return [[performance.eventLoopUtilization(this.#utilization, before).utilization]];
      },
      process_cpu_seconds_total: () => {
        const { user, system } = process.cpuUsage();
        return [[(user + system) / 1e6]];
      },
      process_resident_memory_bytes: memory('rss'),
      process_start_time_seconds: () => [[performance.timeOrigin / 1000]],
      nodejs_heap_size_used_bytes: memory('heapUsed'),
      nodejs_external_memory_bytes: memory('external'),
    };
  }

  close(): void {
    this.#delay.disable();
  }

  /** The monitor tells the time from one look to the next: what is beyond its resolution is delay. */
  #delays() {
    const late = (ns: number) => Math.max(0, ns - RESOLUTION * 1e6) / NS;
    const delays = [
      [late(this.#delay.percentile(50)), '0.5'] as const,
      [late(this.#delay.percentile(99)), '0.99'] as const,
      [late(this.#delay.max), '1'] as const,
    ];
    this.#delay.reset();
    return delays;
  }
}
