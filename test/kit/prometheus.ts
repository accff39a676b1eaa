/** One line of the text format: a name, its labels, its value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LINE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
};

/**
 * Reads the text format 0.0.4 as strictly as Prometheus does, and a little more: HELP and TYPE before each family, each
 * family once, no sample twice, buckets that rise up to `+Inf`, which is the count. Throws at the first fault.
 */
export function readMetrics(text: string): readonly Family[] {
  if (!text.endsWith('\n')) {
    throw new Error('the last line has no end');
  }
  const families = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>();
  let family: { name: string; type: string; help: string; samples: Sample[] } | undefined;
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(name)) {
        throw new Error(`${name} stands there twice`);
      }
      family = { name, type: '', help: rest, samples: [] };
      families.set(name, family);
    } else if (kind === 'TYPE') {
      if (family?.name !== name || family.samples.length > 0 || SUFFIXES[rest] === undefined) {
        throw new Error(`TYPE out of place: ${line}`);
      }
      family.type = rest;
    } else {
      const sample = sampleOf(line);
      const suffixes = SUFFIXES[family?.type ?? ''] ?? [];
      if (family === undefined || !suffixes.some((suffix) => sample.name === `${family?.name}${suffix}`)) {
        throw new Error(`belongs to no family: ${line}`);
      }
      family.samples.push(sample);
    }
  }
  const read = [...families.values()];
  for (const each of read) {
    check(each);
  }
  return read;
}

function sampleOf(line: string): Sample {
  const [, name = '', inner = '', value = ''] = LINE.exec(line) ?? [];
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  if (name === '' || Number.isNaN(number)) {
    throw new Error(`no sample: ${line}`);
  }
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let read = 0;
  for (let found = LABEL.exec(inner); found !== null; found = LABEL.exec(inner)) {
    const [, label = '', text = ''] = found;
    if (Object.hasOwn(labels, label)) {
      throw new Error(`a label twice: ${line}`);
    }
    labels[label] = text.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
    read = LABEL.lastIndex;
  }
  if (read !== inner.length) {
    throw new Error(`labels that cannot be read: ${line}`);
  }
  return { name, labels, value: number };
}

function check({ name, type, samples }: Family): void {
  const keys = samples.map((sample) =>
    JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()]),
  );
  if (new Set(keys).size !== keys.length) {
    throw new Error(`${name} has a sample twice`);
  }
  if (type !== 'histogram') {
    return;
  }
  const series = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _le, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).toSorted());
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const each of series.values()) {
    const buckets = each.filter((sample) => sample.name === `${name}_bucket`);
    const count = each.find((sample) => sample.name === `${name}_count`)?.value;
    const rising = buckets.every((bucket, at) => {
      const before = buckets[at - 1];
      const bound = (sample: Sample) => Number(sample.labels['le']?.replace('+Inf', 'Infinity'));
      return before === undefined || (bound(bucket) > bound(before) && bucket.value >= before.value);
    });
    if (!rising || buckets.at(-1)?.labels['le'] !== '+Inf' || buckets.at(-1)?.value !== count) {
      throw new Error(`the buckets of ${name} make no sense`);
    }
  }
}

/** The value with these labels, whatever others there are; undefined where there is none. Throws where there are several. */
export function metricValue(
  families: readonly Family[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  if (found.length > 1) {
    throw new Error(`${name}: ${found.length} samples have these labels`);
  }
  return found[0]?.value;
}
