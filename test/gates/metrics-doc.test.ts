import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ERRORS } from '../../src/base/error-table.ts';
import { METRICS, type MetricRow } from '../../src/observe/metric-table.ts';
import { METRICS_PAGE, metricsPage } from './generate-metrics.ts';
import { repositoryFiles, textOf } from './repository.ts';

const names = Object.keys(METRICS);
const rows = Object.entries<MetricRow>(METRICS);

/** Every expression for Prometheus in a file, whatever it is under. */
function expressionsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([key, member]) => {
    const isExpression = (key === 'expr' || key === 'query') && typeof member === 'string';
    return isExpression ? [member] : expressionsIn(member);
  });
}

const EXPRESSIONS = {
  'docs/grafana-dashboard.json': expressionsIn(JSON.parse(textOf('docs/grafana-dashboard.json'))),
  'docs/alerts.yaml': expressionsIn(parse(textOf('docs/alerts.yaml'))),
};

test('docs/metrics.md is what the table says; run: node test/gates/generate-metrics.ts', () => {
  expect(textOf(METRICS_PAGE)).toBe(metricsPage());
});

test('names and texts follow the customs of Prometheus', () => {
  for (const [name, { type, says, labels }] of rows) {
    expect(says, name).toMatch(/^[0-9A-Z].*\.$/s);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    expect(type === 'histogram' ? name : 'x_seconds', name).toMatch(/_seconds$/);
    expect(labels, name).not.toContain('le');
  }
});

test('every metric has a place that counts it', () => {
  const sources = repositoryFiles()
    .filter((file) => /^src\/observe\/.*\.ts$/.test(file) && file !== 'src/observe/metric-table.ts')
    .map(textOf)
    .join('\n');
  expect(names.filter((name) => !sources.includes(`${name}: `))).toEqual([]);
});

test.each(Object.entries(EXPRESSIONS))('%s names only what there is', (_, expressions) => {
  expect(expressions.length).toBeGreaterThan(10);
  const known = new Map(rows.map(([name, row]) => [name, row]));
  for (const expression of expressions) {
    for (const [used = ''] of expression.matchAll(/\b(?:patchbay|process|nodejs)_\w+/g)) {
      const row = known.get(used) ?? known.get(used.replace(/_(?:bucket|sum|count)$/, ''));
      expect(row, `${used} in ${expression}`).toBeDefined();
      expect(row?.type === 'histogram', `${used} in ${expression}`).toBe(!known.has(used));
    }
    // Each metric with the labels that it is asked for, besides those that Prometheus adds.
    for (const [, used = '', inner = ''] of expression.matchAll(
      /\b((?:patchbay|process|nodejs)_\w+)\{([^}]*)\}/g,
    )) {
      const row = known.get(used) ?? known.get(used.replace(/_(?:bucket|sum|count)$/, ''));
      const asked = [...inner.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label);
      const there = [...(row?.labels ?? []), 'job', 'instance'];
      expect(
        asked.filter((label) => !there.includes(label)),
        expression,
      ).toEqual([]);
    }
    for (const [, codes = ''] of expression.matchAll(/\bcode=~?"([A-Z_|]+)"/g)) {
      expect(Object.keys(ERRORS)).toEqual(expect.arrayContaining(codes.split('|')));
    }
  }
});

test('every metric is on the dashboard', () => {
  const shown = EXPRESSIONS['docs/grafana-dashboard.json'].join('\n');
  expect(names.filter((name) => !shown.includes(name))).toEqual([]);
});
