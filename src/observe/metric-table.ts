/**
 * Every metric there is: docs/metrics.md is made from this, and nothing else can be counted. Labels are of closed sets:
 * ids of upstreams from the configuration (empty: none, the gateway itself), methods of the protocol (`other` for any
 * other), codes of the table of errors, words of the program. Nothing that a client or a server can choose is one, but for
 * `tool`, whose number is bounded by the configuration.
 */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly says: string;
  readonly labels: readonly string[];
  /** Of a histogram: upper bounds, `+Inf` not among them. */
  readonly bounds?: readonly number[];
}

/** In seconds: from an answer out of memory to the longest call that the defaults allow. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];

const counter = (says: string, ...labels: readonly string[]): MetricRow => ({
  type: 'counter',
  says,
  labels,
});
const gauge = (says: string, ...labels: readonly string[]): MetricRow => ({ type: 'gauge', says, labels });
const seconds = (says: string, ...labels: readonly string[]): MetricRow => ({
  type: 'histogram',
  says,
  labels,
  bounds: SECONDS,
});

const ROWS = {
  patchbay_requests_total: counter(
    'Requests of clients, by how they ended: `ok`, `tool_error` (a result that says isError), `input_required`, `upstream_error` (a JSON-RPC error that the upstream gave), `error` (one of the gateway: see patchbay_request_errors_total) or `cancelled`.',
    'upstream',
    'method',
    'outcome',
  ),
  patchbay_requests_in_flight: gauge('Requests of clients under way.'),
  patchbay_request_errors_total: counter(
    'Requests that the gateway answered with an error of its own, by its code in docs/errors.md. Upstream: whom it is about.',
    'upstream',
    'code',
  ),
  patchbay_request_flags_total: counter(
    'Requests of which something more was found: forbidden, quarantined, gone, arguments_rejected, result_invalid, credential_seen, leak_seen, cached.',
    'flag',
  ),
  patchbay_request_duration_seconds: seconds(
    'From a request until its answer is made, whoever was waited for.',
    'upstream',
    'method',
  ),
  patchbay_response_bytes_total: counter('Size of the answers to requests, as JSON text.', 'upstream'),
  patchbay_tool_calls_total: counter(
    'Calls of tools by name, where metrics.tools allows for some; the name is the one that the upstream gave. `other`: all tools beyond that number.',
    'upstream',
    'tool',
    'outcome',
  ),
  patchbay_upstream_call_duration_seconds: seconds(
    'What of a request an upstream took: from its turn until its answer. People who are asked something count.',
    'upstream',
  ),
  patchbay_upstream_queue_seconds: seconds(
    'How long calls waited for their turn at an upstream.',
    'upstream',
  ),
  patchbay_upstream_up: gauge(
    '1 where the upstream can be used: it is ready, stale, or waits to be needed.',
    'upstream',
  ),
  patchbay_upstream_state: gauge(
    '1 for the state that the upstream is in: idle, connecting, ready, stale, backoff, broken, draining or off.',
    'upstream',
    'state',
  ),
  patchbay_upstream_connects_total: counter(
    'Connections made to an upstream. Each but the first was a reconnect or a restart.',
    'upstream',
  ),
  patchbay_upstream_failures_total: counter(
    'Attempts to reach an upstream, or connections to it, that failed.',
    'upstream',
  ),
  patchbay_http_refusals_total: counter(
    'HTTP requests that were refused as a whole, by status and code (docs/errors.md): sign-in, rights, limits, malformed ones.',
    'status',
    'code',
  ),
  patchbay_client_bytes_total: counter(
    'Bytes on the connections of clients, HTTP included: `received` from them, `sent` to them.',
    'direction',
  ),
  patchbay_client_connections: gauge('TCP connections of clients.'),
  patchbay_client_connections_dropped_total: counter(
    'TCP connections of clients that were closed at once because there were limits.connections of them.',
  ),
  patchbay_sessions: gauge('Sessions of legacy clients with something open.'),
  patchbay_streams: gauge('Long-lived streams to clients.'),
  patchbay_listeners: gauge('Clients that listen for changes of lists.'),
  patchbay_catalog_items: gauge('What an upstream offers to everybody.', 'upstream', 'kind'),
  patchbay_catalog_bytes: gauge('Size of its definitions as JSON text.', 'upstream'),
  patchbay_catalog_revisions_total: counter(
    'How often the catalog of everybody was replaced because clients would notice.',
  ),
  patchbay_catalog_reads_total: counter(
    'Lists that were read from an upstream, for everybody (`shared`) or one user (`private`): `ok` or `failed`.',
    'upstream',
    'scope',
    'outcome',
  ),
  patchbay_catalog_read_duration_seconds: seconds('How long one list took to be read.', 'upstream'),
  patchbay_change_notification_seconds: seconds(
    'From the notice of an upstream that a list changed until listeners were told. One who was told something less than half a second before hears it up to half a second later.',
  ),
  patchbay_cache_lookups_total: counter(
    'Where an answer came from. resources: something kept for everybody (`shared`) or for one user (`private`), or the upstream (`miss`). lists: the lists of everybody or of one user; `miss`: one had to be read for a user first.',
    'cache',
    'result',
  ),
  patchbay_cache_bytes: gauge('What is kept for single users and of resources; see limits.cacheBytes.'),
  patchbay_findings: gauge(
    'What is odd in what the upstreams say of themselves, by id (docs/findings.md).',
    'id',
    'severity',
  ),
  patchbay_config_ok: gauge(
    '0 where the last configuration that was tried is not valid, and the one before goes on.',
  ),
  patchbay_state_up: gauge('1 where the state that replicas share can be used, or is kept in memory.'),
  patchbay_state_messages_refused_total: counter(
    'Messages of replicas to each other that count as unsaid: `forged`, `repeated`, or `stale`, kept too long.',
    'reason',
  ),
  patchbay_audit_lines_total: counter(
    'Lines for the audit log: `written`; `dropped`, because too many waited; or `failed`, attempts to write that failed.',
    'result',
  ),
  patchbay_trace_spans_total: counter(
    'Spans of traces: `sent`, or `dropped` because the collector took none.',
    'result',
  ),
  patchbay_event_loop_delay_seconds: gauge(
    'How late the event loop was since the metrics were last read: median, 99 of 100, most.',
    'quantile',
  ),
  patchbay_event_loop_utilization: gauge(
    'Share of the time since the metrics were last read in which the event loop was busy.',
  ),
  patchbay_build_info: gauge('1; the version is a label.', 'version'),
  process_cpu_seconds_total: counter('User and system CPU time.'),
  process_resident_memory_bytes: gauge('Resident memory.'),
  process_start_time_seconds: gauge('When the process started, in seconds since the epoch.'),
  nodejs_heap_size_used_bytes: gauge('Memory in use on the heap of JavaScript.'),
  nodejs_external_memory_bytes: gauge('Memory of buffers outside of that heap.'),
} satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof ROWS;

export const METRICS: Readonly<Record<MetricName, MetricRow>> = ROWS;
