import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { toGatewayError, UpstreamRpcError } from '../base/errors.ts';
import { isObject, type JsonObject, objectAt, stringAt } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../config/settings.ts';
import { LONGEST_TEXT, namesOf, short, targetOf } from './span-names.ts';

/** Texts that carry a trace from one program to the next (W3C Trace Context). */
export interface Carrier {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** A request as it came in. */
export interface TracedRequest {
  readonly method: string;
  readonly id: unknown;
  readonly params: JsonObject | undefined;
  readonly version: string;
  readonly session: string | undefined;
  /** What its HTTP request carried. What stands in `_meta` is nearer to the message and outranks it. */
  readonly carrier: Carrier | undefined;
}

/** How it ended. */
export interface TracedEnd {
  readonly upstream?: string | undefined;
  readonly original?: string | undefined;
  readonly outcome?: string | undefined;
  readonly code?: string | undefined;
  readonly rpcCode?: number | undefined;
}

export interface TracingOptions {
  readonly settings: Settings['tracing'];
  readonly name: string;
  readonly release: string;
  readonly log: Log;
}

/** For the last spans, in ms. */
const LAST_SPANS_MS = 3_000;
/** How long spans wait for company before they are sent, and how long a collector may take for them, in ms. */
const SEND_EVERY_MS = 1_000;
const SEND_TIMEOUT_MS = 10_000;

const propagator = new W3CTraceContextPropagator();

/**
 * Spans by the semantic conventions for MCP (OpenTelemetry, in development): one for each request of a client, within it
 * one for each request to an upstream, and one for each list that is read. This module loads the SDK: it is imported only
 * where traces are wanted. Nothing global is set, so it traces this gateway and nothing else.
 */
export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #follow: boolean;
  readonly #queue: number;
  #waiting = 0;
  #sent = 0;
  #dropped = 0;
  #failing = false;

  constructor({ settings, name, release, log }: TracingOptions) {
    const { endpoint: url, headers, percent, queue, follow } = settings;
    this.#follow = follow;
    this.#queue = queue;
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: SEND_TIMEOUT_MS });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': name, 'service.version': release }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(percent / 100) }),
      spanLimits: { attributeValueLengthLimit: LONGEST_TEXT * 4 },
      spanProcessors: [
        { onStart: () => {}, onEnd: (span) => this.#ended(span), forceFlush: nothing, shutdown: nothing },
        new BatchSpanProcessor({
          exporter: this.#counted(exporter, log),
          maxQueueSize: queue,
          maxExportBatchSize: Math.min(queue, 512),
          scheduledDelayMillis: SEND_EVERY_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('patchbay', release);
  }

  get counts(): { readonly sent: number; readonly dropped: number } {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  /** The span of one request. */
  request(about: TracedRequest): TracedSpan {
    const { method, id, params, version, session } = about;
    const attributes = {
      'mcp.method.name': short(method),
      'mcp.protocol.version': version,
      'jsonrpc.request.id': short(String(id)),
      ...(session === undefined ? {} : { 'mcp.session.id': session }),
    };
    const within = this.#follow ? parentOf(params, about.carrier) : ROOT_CONTEXT;
    const span = this.#tracer.startSpan(short(method), { kind: SpanKind.SERVER, attributes }, within);
    return new TracedSpan(this.#tracer, span, about);
  }

  /** One list that is read from an upstream. */
  async read<T>(
    about: { upstream: string; method: string; scope: string },
    run: () => Promise<T>,
  ): Promise<T> {
    const { upstream, method, scope } = about;
    const attributes = { 'mcp.method.name': method, 'patchbay.upstream': upstream, 'patchbay.scope': scope };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.CLIENT, attributes }, ROOT_CONTEXT);
    return endedBy(span, run());
  }

  /** Sends what waits, for a short time. */
  async close(): Promise<void> {
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, LAST_SPANS_MS).unref();
    });
    await Promise.race([this.#provider.shutdown().catch(() => this.#lost(this.#waiting)), late]);
  }

  #ended(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) {
      return;
    }
    if (this.#waiting >= this.#queue) {
      this.#dropped += 1;
    } else {
      this.#waiting += 1;
    }
  }

  #lost(spans: number): void {
    this.#dropped += spans;
  }

  /** The exporter, and what became of its spans. Its failures are logged once until it works again. */
  #counted(exporter: SpanExporter, log: Log): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done: (result: ExportResult) => void) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          const failed = result.code !== ExportResultCode.SUCCESS;
          if (failed) {
            this.#lost(spans.length);
          } else {
            this.#sent += spans.length;
          }
          if (failed !== this.#failing) {
            this.#failing = failed;
            log[failed ? 'warn' : 'info'](
              { err: result.error },
              failed ? 'traces cannot be sent: they are lost' : 'traces are sent again',
            );
          }
          // Said already: the SDK would tell its own log, which nobody reads.
          done({ code: ExportResultCode.SUCCESS });
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }
}

/** The span of a request, and those within it. */
export class TracedSpan {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #request: TracedRequest;
  readonly #context: Context;

  constructor(tracer: Tracer, span: Span, request: TracedRequest) {
    this.#tracer = tracer;
    this.#span = span;
    this.#request = request;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
  }

  /** Id of the trace, for other logs to name. */
  get id(): string {
    return this.#span.spanContext().traceId;
  }

  /** A request to an upstream, which is told of its span in `_meta` and, where there are headers, in those. */
  call<T>(
    { upstream, method }: { readonly upstream: string; readonly method: string },
    params: JsonObject,
    send: (params: JsonObject, headers: Readonly<Record<string, string>>) => Promise<T>,
  ): Promise<T> {
    const name = targetOf(method, params);
    const span = this.#tracer.startSpan(
      name === undefined ? method : `${method} ${name}`,
      { kind: SpanKind.CLIENT, attributes: { ...namesOf(method, params), 'patchbay.upstream': upstream } },
      this.#context,
    );
    const carrier: Record<string, string> = {};
    propagator.inject(trace.setSpan(this.#context, span), carrier, defaultTextMapSetter);
    const { tracestate: _old, traceparent: _older, ...meta } = objectAt(params, '_meta') ?? {};
    return endedBy(span, send({ ...params, _meta: { ...meta, ...carrier } }, carrier));
  }

  end({ upstream, original, outcome = 'ok', code, rpcCode }: TracedEnd): void {
    const { method, params } = this.#request;
    const span = this.#span;
    // What a client asked for is its own text, until it is found to be the name of something.
    if (original !== undefined) {
      const name = targetOf(method, params);
      span.updateName(short(name === undefined ? method : `${method} ${name}`));
      span.setAttributes(namesOf(method, params));
    }
    span.setAttributes({
      'patchbay.outcome': outcome,
      ...(upstream === undefined ? {} : { 'patchbay.upstream': upstream }),
      ...(rpcCode === undefined ? {} : { 'rpc.response.status_code': String(rpcCode) }),
    });
    if (outcome !== 'ok' && outcome !== 'input_required') {
      failed(span, code ?? outcome);
    }
    span.end();
  }
}

async function endedBy<T>(span: Span, answer: Promise<T>): Promise<T> {
  try {
    const result = await answer;
    if (isObject(result) && result['isError'] === true) {
      failed(span, 'tool_error');
    }
    return result;
  } catch (thrown) {
    const isTheirs = thrown instanceof UpstreamRpcError;
    if (isTheirs) {
      span.setAttribute('rpc.response.status_code', String(thrown.error.code));
    }
    failed(span, isTheirs ? String(thrown.error.code) : toGatewayError(thrown).code);
    throw thrown;
  } finally {
    span.end();
  }
}

function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function parentOf(params: JsonObject | undefined, carrier: Carrier | undefined): Context {
  const meta = objectAt(params, '_meta');
  const traceparent = stringAt(meta, 'traceparent');
  const given =
    traceparent === undefined ? carrier : { traceparent, tracestate: stringAt(meta, 'tracestate') };
  return given === undefined ? ROOT_CONTEXT : propagator.extract(ROOT_CONTEXT, given, defaultTextMapGetter);
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
