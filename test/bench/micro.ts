import { createHash, randomBytes } from 'node:crypto';
import { createPolicy } from '../../src/access/policy.ts';
import { createPrincipal } from '../../src/access/principal.ts';
import { createLineReader } from '../../src/base/line-reader.ts';
import { createSealer } from '../../src/base/sealed.ts';
import { sameJson } from '../../src/catalog/reuse.ts';
import { buildCatalog } from '../../src/catalog/snapshot.ts';
import { viewOf } from '../../src/catalog/view.ts';
import { parseSettings } from '../../src/config/load.ts';
import { headerMismatch } from '../../src/protocol/headers.ts';
import { classify } from '../../src/protocol/json-rpc.ts';
import { readJson } from '../../src/protocol/json-text.ts';
import { withHopMeta } from '../../src/protocol/meta.ts';
import { messageEvent } from '../../src/protocol/sse.ts';
import { part } from '../unit/catalog/parts.ts';
import { writeSection } from './document.ts';
import type { Options } from './options.ts';
import { median } from './samples.ts';
import { sampleText, toolDefinitions } from './tools.ts';

const BATCHES = 7;
const BATCH_MS = 40;
const MOST_BYTES = 8 * 2 ** 20;
/** What nothing measured is thrown away for: an optimiser drops what nobody needs. */
let sink: unknown;

const READ = {
  line: (text: string) => {
    sink = text;
  },
  overflow: () => {},
  skipped: () => {},
};

/** ns for one call, the median of some batches after a warm-up. */
function timeOf(run: () => unknown): number {
  let calls = 1;
  let took = 0;
  while (took < BATCH_MS) {
    calls *= 2;
    took = batch(run, calls);
  }
  return (median(Array.from({ length: BATCHES }, () => batch(run, calls))) ?? took) * (1e6 / calls);
}

function batch(run: () => unknown, calls: number): number {
  const began = performance.now();
  for (let call = 0; call < calls; call += 1) {
    sink = run();
  }
  return performance.now() - began;
}

/** Hot pure functions, by what they do. */
function subjects(): Readonly<Record<string, () => unknown>> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const callOf = (bytes: number) => ({
    jsonrpc: '2.0' as const,
    id: 7,
    method: 'tools/call',
    params: { name: 's1.echo', arguments: { text: sampleText(bytes) }, _meta: meta },
  });
  const small = callOf(100);
  const smallText = JSON.stringify(small);
  const largeText = JSON.stringify(callOf(10_000));
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 's1.echo',
  };
  const sealer = createSealer(randomBytes(32));
  const sealed = sealer.seal('session', { sid: 'some-session', principal: 'ann' });
  const line = Buffer.from(`${smallText}\n`);
  const reader = createLineReader(MOST_BYTES, READ);
  const catalog = buildCatalog([part('s1', { tools: toolDefinitions(5_000) })], {
    separator: '.',
    maxLength: 128,
  });
  const view = viewOf(catalog, { style: 'dotted' });
  const [one, other] = [toolDefinitions(2)[1], structuredClone(toolDefinitions(2)[1])];
  const access = accessOf();
  const subject = view.find('tools', 's1.find_orders_4000');
  return {
    'readJson, a call of 100 B': () => readJson(smallText, MOST_BYTES),
    'readJson, a call of 10 KB': () => readJson(largeText, MOST_BYTES),
    'classify a call': () => classify(small),
    'compare headers with a call': () => headerMismatch(headers, small),
    'meta of the next hop': () => withHopMeta(small.params, meta),
    'an event of a stream, 100 B': () => messageEvent(smallText, 'abcdefghijkl.7'),
    'a line from a pipe, 100 B': () => reader.push(line),
    'open a sealed id': () => sealer.open('session', sealed),
    'seal an id': () => sealer.seal('session', { sid: 'some-session', principal: 'ann' }),
    'find one of 5,000 tools by name': () => view.find('tools', 's1.find_orders_4000'),
    'judge one tool by 20 rules': () => subject && access.shows(subject),
    'compare two equal tool definitions': () => sameJson(one, other),
  };
}

function accessOf() {
  const rules = Array.from({ length: 20 }, (_, at) => ({
    who: { groups: ['staff'] },
    allow: [`s1.${at === 19 ? '*' : `other_${at}_*`}`],
  }));
  const key = createHash('sha256').update('key').digest('hex');
  const config = {
    auth: { mode: 'keys', keys: [{ id: 'ann', sha256: key, groups: ['staff'] }] },
    access: rules,
    upstreams: {},
  };
  const { settings } = parseSettings(JSON.stringify(config), {
    file: 'bench.yaml',
    env: {},
    readFile: () => '',
  });
  const ann = { key: 'ann', id: 'ann', issuer: undefined, groups: ['staff'], scopes: [] };
  return createPolicy(settings)(createPrincipal({ ...ann, expires: undefined, presented: undefined }));
}

/** Times hot pure functions one by one. */
export function micro({ json, write }: Options): Promise<number> {
  const times = Object.entries(subjects()).map(([name, run]) => [name, timeOf(run)] as const);
  const text = [
    '| function | ns for one call |',
    '| --- | --- |',
    ...times.map(([name, ns]) => `| ${name} | ${ns.toFixed(0)} |`),
  ].join('\n');
  process.stdout.write(json ? `${JSON.stringify(Object.fromEntries(times))}\n` : `${text}\n`);
  if (write) {
    writeSection('micro', 'one process', text);
  }
  return Promise.resolve(sink === undefined ? 1 : 0);
}
