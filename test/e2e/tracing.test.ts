import { expect, test } from 'vitest';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectLegacy } from '../kit/legacy-agent.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { type CollectedSpan, startCollector } from '../kit/otlp-collector.ts';
import { startGateway } from '../kit/start-gateway.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const OTHER_TRACE = '1bf7651916cd43dd8448eb211c80319d';
const header = (trace: string, flags = '01') => `00-${trace}-${PARENT}-${flags}`;

const called = (spans: readonly CollectedSpan[], trace: string) =>
  spans.filter(({ traceId }) => traceId === trace);

test('a request, its call and the lists that are read are spans, in the trace that the client is in', async () => {
  await using collector = await startCollector();
  await using files = await startHttpUpstream({ id: 'files', era: 'modern', tools: ['echo', 'fail'] });
  await using old = await startHttpUpstream({ id: 'old', era: 'legacy', tools: ['echo'] });
  await using gateway = await startGateway({
    tracing: { enabled: true, endpoint: collector.url, headers: { 'X-Key': 'for-the-collector' } },
    upstreams: { files: files.config, old: old.config },
  });
  await using modern = await connectModern(gateway.url);
  await using legacy = await connectLegacy(gateway.url);
  await modern.untilNames((names) => names.includes('files.echo') && names.includes('old.echo'));
  // What stands in `_meta` is nearer to the message than what the HTTP request carries.
  await modern.request(
    'tools/call',
    { name: 'files.echo', arguments: { text: 'a private text' } },
    {
      meta: { traceparent: header(TRACE), tracestate: 'vendor=1' },
      headers: { traceparent: header(OTHER_TRACE) },
    },
  );
  await legacy.request(
    'tools/call',
    { name: 'old.echo', arguments: {} },
    { headers: { traceparent: header(OTHER_TRACE) } },
  );
  await modern.request(
    'tools/call',
    { name: 'files.none', arguments: {} },
    { meta: { traceparent: header(TRACE) } },
  );
  await collector.until(
    (spans) => called(spans, TRACE).length === 3 && called(spans, OTHER_TRACE).length === 2,
  );

  const [server, client] = ['files.echo', 'echo'].map((name) =>
    called(collector.spans, TRACE).find((span) => span.name === `tools/call ${name}`),
  );
  expect(server).toMatchObject({
    parentSpanId: PARENT,
    kind: 2,
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'files.echo',
      'gen_ai.operation.name': 'execute_tool',
      'patchbay.upstream': 'files',
      'patchbay.outcome': 'ok',
    },
  });
  expect(client).toMatchObject({ parentSpanId: server?.spanId, kind: 3, status: 0 });
  const sent = files.received.find(({ method }) => method === 'tools/call');
  const traceparent = `00-${TRACE}-${client?.spanId}-01`;
  expect(sent?.message).toMatchObject({ params: { _meta: { traceparent, tracestate: 'vendor=1' } } });
  expect(sent?.headers).toMatchObject({ traceparent });
  const oldCall = called(collector.spans, OTHER_TRACE).find(({ kind }) => kind === 3);
  expect(old.received.find(({ method }) => method === 'tools/call')?.message).toMatchObject({
    params: { _meta: { traceparent: `00-${OTHER_TRACE}-${oldCall?.spanId}-01` } },
  });
  // A name that nothing has is a text of the client's own, and names no span.
  const unknown = called(collector.spans, TRACE).find(({ name }) => name === 'tools/call');
  expect(unknown).toMatchObject({ status: 2, attributes: { 'error.type': 'NAME_UNKNOWN' } });
  await collector.until((spans) => spans.some(({ name, kind }) => name === 'tools/list' && kind === 3));
  expect(collector.headers[0]).toMatchObject({ 'x-key': 'for-the-collector' });
  expect(JSON.stringify(collector.spans)).not.toContain('private');
});

test('what waits is sent when the gateway ends; a client that traces nothing is not traced', async () => {
  await using collector = await startCollector();
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  const gateway = await startGateway({
    tracing: { enabled: true, endpoint: collector.url },
    upstreams: { files: files.config },
  });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  const call = { name: 'files.echo', arguments: {} };
  await agent.request('tools/call', call, { meta: { traceparent: header(TRACE, '00') } });
  await agent.request('tools/call', call, { meta: { traceparent: header(OTHER_TRACE) } });
  await gateway.close();
  expect(called(collector.spans, OTHER_TRACE)).toHaveLength(2);
  expect(called(collector.spans, TRACE)).toHaveLength(0);
  // The upstream is told of the trace all the same, and that it is not recorded.
  expect(JSON.stringify(files.received)).toMatch(new RegExp(`00-${TRACE}-[0-9a-f]{16}-00`));
});

test('a collector that takes nothing costs spans, and nothing else', async () => {
  await using collector = await startCollector();
  collector.answer(400);
  await using files = await startHttpUpstream({ id: 'files', tools: ['echo'] });
  const gateway = await startGateway({
    tracing: { enabled: true, endpoint: collector.url, queue: 4 },
    upstreams: { files: files.config },
  });
  await using agent = await connectModern(gateway.url);
  await agent.untilNames((names) => names.includes('files.echo'));
  for (let at = 0; at < 5; at += 1) {
    expect((await agent.call('files.echo', {})).result).toMatchObject({ content: expect.anything() });
  }
  const scraped = async () => (await fetch(`${gateway.origin}/metrics`)).text();
  await expect.poll(scraped).toMatch(/patchbay_trace_spans_total\{result="dropped"\} [1-9]/);
  await expect
    .poll(() => gateway.logged.filter(({ msg }) => msg === 'traces cannot be sent: they are lost').length)
    .toBe(1);
  await gateway.close();
});
