import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricName } from './metric-table.ts';
import type { Tally } from './tally.ts';

/** One value, with a value for each label in the order of the table. */
type Sample<Value> = readonly [value: Value, ...labels: readonly string[]];

type Reading = Iterable<Sample<number>>;
type TallyReading = Iterable<Sample<Tally>>;

/** How each metric is read. Called when Prometheus asks, and at no other time. */
export type Readings = Readonly<Partial<Record<MetricName, () => Reading | TallyReading>>>;

/** A registry of its own for each gateway: a process may hold several, and the global one is anybody's. */
export function createRegistry(readings: Readings): Registry {
  const registry = new Registry();
  for (const [name, { type, says: help, labels }] of Object.entries(METRICS)) {
    const read = readings[name as MetricName];
    if (read === undefined) {
      continue;
    }
    const about = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === 'histogram') {
      new TalliedHistogram(about, METRICS[name as MetricName].bounds ?? [], read as () => TallyReading);
    } else {
      const metric = type === 'counter' ? Counter : Gauge;
      new metric({
        ...about,
        collect() {
          this.reset();
          for (const [value, ...given] of read() as Reading) {
            this.inc(named(labels, given), value);
          }
        },
      });
    }
  }
  return registry;
}

function named(labels: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map((label, at) => [label, values[at] ?? '']));
}

/** A histogram of what was counted elsewhere. */
class TalliedHistogram extends Histogram {
  readonly #about: { readonly name: string; readonly help: string; readonly labelNames: readonly string[] };
  readonly #bounds: readonly number[];
  readonly #read: () => TallyReading;

  constructor(
    about: { name: string; help: string; labelNames: string[]; registers: Registry[] },
    bounds: readonly number[],
    read: () => TallyReading,
  ) {
    super({ ...about, buckets: [...bounds] });
    this.#about = about;
    this.#bounds = bounds;
    this.#read = read;
  }

  override get() {
    const { name, help, labelNames } = this.#about;
    const values = [...this.#read()].flatMap(([tally, ...given]) =>
      samplesOf(name, this.#bounds, tally, named(labelNames, given)),
    );
    // What prom-client declares as an enumeration is that word at run time.
    return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' } as unknown as Awaited<
      ReturnType<Histogram['get']>
    >);
  }

  /** What the registry calls; prom-client does not declare it. */
  getForPromString() {
    return this.get();
  }
}

function samplesOf(
  name: string,
  bounds: readonly number[],
  { counts, sum, count }: Tally,
  labels: Record<string, string>,
) {
  let below = 0;
  const buckets = bounds.map((bound, at) => {
    below += counts[at] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
