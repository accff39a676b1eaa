import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { newKey } from '../../src/access/keys.ts';
import { METRICS } from '../../src/observe/metric-table.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { metricValue, readMetrics } from '../kit/prometheus.ts';
import { startGateway } from '../kit/start-gateway.ts';

// As bytes of UTF-8, of which each is a character of the header.
const TOKEN = Buffer.from('a-tökən-for-prometheus-alone').toString('latin1');
const sha256 = (text: string) => createHash('sha256').update(text, 'latin1').digest('hex');

async function scrape(origin: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${origin}/metrics`, { headers });
  return { response, text: await response.text() };
}

test('metrics are for operators, and for whoever has the token for them', async () => {
  const [operator, user] = ['olga', 'ulf'].map((id) => ({ id, ...newKey() }));
  const keys = [
    { id: 'olga', sha256: operator?.sha256, groups: ['ops'] },
    { id: 'ulf', sha256: user?.sha256 },
  ];
  const shut = { auth: { mode: 'keys', keys }, operators: { groups: ['ops'] }, upstreams: {} };
  await using gateway = await startGateway({ ...shut, metrics: { tokenSha256: sha256(TOKEN) } });
  const status = async (key: string | undefined, from = gateway) =>
    (await scrape(from.origin, key === undefined ? {} : { authorization: `Bearer ${key}` })).response.status;
  expect(await status(undefined)).toBe(401);
  expect(await status('another-token')).toBe(401);
  expect(await status(user?.key)).toBe(403);
  expect(await status(operator?.key)).toBe(200);
  expect(await status(TOKEN)).toBe(200);
  // Good for this alone.
  expect((await fetch(gateway.url, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(401);
  const { response } = await scrape(gateway.origin, {
    authorization: `Bearer ${TOKEN}`,
    origin: gateway.origin,
  });
  expect(response.headers.get('access-control-allow-origin')).toBe(null);
  await using open = await startGateway({ ...shut, metrics: { public: true } });
  expect(await status(undefined, open)).toBe(200);
  await using off = await startGateway({ ...shut, metrics: { enabled: false } });
  expect(await status(operator?.key, off)).toBe(404);
});

test('everything that happened is counted, in the text format, under labels of closed sets (C-090)', async () => {
  await using files = await startHttpUpstream({
    id: 'files',
    era: 'modern',
    tools: ['echo', 'fail', 'grow'],
  });
  await using gateway = await startGateway({
    metrics: { tools: 1 },
    upstreams: { files: files.config, gone: { url: 'http://127.0.0.1:9/mcp' } },
  });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  await agent.request('tools/call', { name: 'files.echo', arguments: { text: 'hello' } });
  for (let at = 0; at < 20; at += 1) {
    await agent.request('tools/call', { name: `files.bogus_${at}`, arguments: {} });
    await agent.request(`bogus/method_${at}`, {});
  }
  await files.untilListening();
  await using stream = await agent.listen({ tools: true });
  await files.addTool({ name: 'late', inputSchema: { type: 'object' } });
  await files.notify('tools');
  await stream.next();
  await using legacy = await connectLegacy(gateway.url);
  await legacy.request('tools/list', {});
  await fetch(gateway.url, { method: 'POST', headers: { origin: 'https://evil.example' }, body: '{}' });
  const { response, text } = await scrape(gateway.origin);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = readMetrics(text);
  const value = (name: string, labels?: Record<string, string>) => metricValue(families, name, labels);
  expect(families.map(({ name }) => name).toSorted()).toEqual(Object.keys(METRICS).toSorted());
  const call = { upstream: 'files', method: 'tools/call' };
  expect(value('patchbay_requests_total', { ...call, outcome: 'ok' })).toBe(1);
  expect(value('patchbay_requests_total', { upstream: '', method: 'tools/call' })).toBe(20);
  expect(value('patchbay_requests_total', { method: 'other', outcome: 'error' })).toBe(20);
  expect(value('patchbay_request_errors_total', { code: 'NAME_UNKNOWN' })).toBe(20);
  expect(value('patchbay_request_duration_seconds_count', call)).toBe(1);
  expect(value('patchbay_upstream_call_duration_seconds_count', { upstream: 'files' })).toBe(1);
  expect(value('patchbay_tool_calls_total', { upstream: 'files', tool: 'echo', outcome: 'ok' })).toBe(1);
  expect(value('patchbay_http_refusals_total', { code: 'ORIGIN_REFUSED', status: '403' })).toBe(1);
  expect(value('patchbay_upstream_up', { upstream: 'files' })).toBe(1);
  expect(value('patchbay_upstream_up', { upstream: 'gone' })).toBe(0);
  expect(value('patchbay_upstream_connects_total', { upstream: 'files' })).toBe(1);
  expect(value('patchbay_upstream_failures_total', { upstream: 'gone' })).toBeGreaterThan(0);
  expect(value('patchbay_catalog_items', { upstream: 'files', kind: 'tools' })).toBe(4);
  expect(value('patchbay_catalog_reads_total', { upstream: 'files', outcome: 'ok' })).toBeGreaterThan(0);
  expect(value('patchbay_client_bytes_total', { direction: 'sent' })).toBeGreaterThan(1000);
  expect(value('patchbay_listeners')).toBe(1);
  expect(value('patchbay_change_notification_seconds_count')).toBe(1);
  expect(text).not.toContain('bogus');

  // A server that is dead is told apart from a name that nothing has, and from one that is well.
  await files.kill();
  const { result } = await agent.call('files.echo', {});
  expect(result['isError']).toBe(true);
  await expect
    .poll(async () => {
      const after = readMetrics((await scrape(gateway.origin)).text);
      const lost = ['UPSTREAM_LOST', 'UPSTREAM_DOWN'].map(
        (code) => metricValue(after, 'patchbay_request_errors_total', { upstream: 'files', code }) ?? 0,
      );
      return [Math.max(...lost), metricValue(after, 'patchbay_upstream_up', { upstream: 'files' })];
    })
    .toEqual([1, 0]);
});
