/**
 * Turns a folder of raw recordings of MCP clients (one JSON file a client and variant, and an `index.json`) into the
 * small fixtures beside this file: only what a client sent over HTTP, and what it must be answered with.
 * `node test/clients/compact.mjs FOLDER`
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

const OUT = fileURLToPath(new URL('recorded/', import.meta.url));

/** Requests sent within so many ms of each other count as sent together: the client did not wait in between. */
const TOGETHER_MS = 3;
/** The recorded server announced a new tool so long after its first list, in ms. */
const GROWN_MS = 2_000;

/** The file of one client: dictionaries first, then one step a line. */
function fixture(id, files, read) {
  const headers = dictionary();
  const metas = dictionary();
  const variants = new Map();
  const known = new Map();
  let version = '';
  for (const [variant, file] of files) {
    if (file.startsWith('same as ')) {
      variants.set(variant, JSON.stringify(file.slice('same as '.length)));
      continue;
    }
    const recording = read(file);
    version = recording.version;
    const steps = compact(variant, recording.steps, headers, metas).map((step) => JSON.stringify(step));
    const text = steps.join(',\n');
    variants.set(variant, known.has(text) ? JSON.stringify(known.get(text)) : `[\n${text}\n]`);
    known.set(text, known.get(text) ?? variant);
  }
  const client = id.replace(`-${version}`, '');
  const list = (entries) => `[\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n]`;
  const body = [...variants].map(([variant, text]) => `${JSON.stringify(variant)}: ${text}`).join(',\n');
  return `{\n"client": ${JSON.stringify(client)},\n"version": ${JSON.stringify(version)},\n"headers": ${list(headers.entries)},\n"metas": ${list(metas.entries)},\n"variants": {\n${body}\n}\n}\n`;
}

/** Values kept once and named by their place. */
function dictionary() {
  const entries = [];
  const places = new Map();
  return {
    entries,
    place(value) {
      const text = JSON.stringify(value);
      if (!places.has(text)) {
        places.set(text, entries.length);
        entries.push(value);
      }
      return places.get(text);
    },
  };
}

function compact(variant, recorded, headers, metas) {
  const steps = [];
  const ended = new Set();
  const grownAt = growth(variant, recorded);
  let restarted;
  let last = 0;
  let previous;
  for (const [at, step] of openingOnly(variant, recorded).entries()) {
    if (at === grownAt) {
      steps.push({ grow: true });
      previous = undefined;
    }
    if (step.note?.startsWith('server restart')) {
      restarted = last;
      steps.push({ restart: true });
      previous = undefined;
    } else if (step.closed !== undefined) {
      // What the restart cut was not closed by the client.
      if (restarted === undefined || step.closed.n > restarted) {
        steps.push({ close: step.closed.n });
      }
      previous = undefined;
    } else if (step.method !== undefined) {
      const together = previous !== undefined && goTogether(previous, step);
      steps.push({ ...sent(step, headers, metas, ended), ...(together ? { together } : {}) });
      previous = step;
      last = step.n;
    }
  }
  if (grownAt === recorded.length) {
    steps.push({ grow: true });
  }
  return steps;
}

/** What follows on the 2024-11-05 pair of endpoints is no traffic of this gateway. */
function openingOnly(variant, recorded) {
  if (variant !== 'http-sseonly') {
    return recorded;
  }
  const end = recorded.findIndex(
    (step) => step.push?.event === 'endpoint' || step.path?.startsWith('/messages'),
  );
  return end < 0 ? recorded : recorded.slice(0, end);
}

/** Before which recorded step the server gains a tool: where it told of it, else where it would have. */
function growth(variant, recorded) {
  if (variant.startsWith('http-restart')) {
    const restart = recorded.findIndex((step) => step.note?.startsWith('server restart'));
    const reopened = recorded.findIndex((step, at) => at > restart && opensStream(step));
    return reopened < 0 ? -1 : Math.max(reopened, lastOpening(recorded, reopened)) + 1;
  }
  const told = recorded.findIndex((step) => step.push?.method === 'notifications/tools/list_changed');
  if (told >= 0) {
    return told;
  }
  const first = recorded.find((step) => step.body?.method === 'tools/list');
  const later = (step) =>
    first !== undefined && step.body?.method === 'tools/list' && step.at > first.at + GROWN_MS;
  return recorded.findIndex(later);
}

/** A client that was refused opens its stream again; the last try in a row is the one it would have kept. */
function lastOpening(recorded, from) {
  let last = from;
  for (
    let at = from;
    at < recorded.length && (recorded[at].method === undefined || opensStream(recorded[at]));
    at += 1
  ) {
    last = recorded[at].method === undefined ? last : at;
  }
  return last;
}

function opensStream({ method, body, headers }) {
  const listens = body?.method === 'subscriptions/listen';
  return listens || (method === 'GET' && sessionOf(headers) !== undefined);
}

function goTogether(before, step) {
  const waits =
    step.method === 'DELETE' ||
    step.body?.method === 'notifications/cancelled' ||
    step.body?.params?.cursor !== undefined;
  const opens = before.body?.method === 'initialize' || before.body?.method === 'server/discover';
  return !waits && !opens && before.method !== 'DELETE' && step.at - before.at <= TOGETHER_MS;
}

function sent(step, headers, metas, ended) {
  const { method, path, body, reply } = step;
  const session = sessionOf(step.headers);
  const opens = body?.method === 'initialize' ? numberOf(reply?.['mcp-session-id']) : undefined;
  const expects = expected(step, session, ended);
  if (expects === 'ended') {
    ended.add(session);
  }
  const { message, meta } = withoutMeta(body);
  return {
    send: `${method} ${path}`,
    headers: headers.place(generalised(step.headers, body)),
    ...(session === undefined ? {} : { session }),
    ...(opens === undefined ? {} : { opens }),
    ...(meta === undefined ? {} : { meta: metas.place(meta) }),
    ...(message === undefined ? {} : { body: message }),
    expects,
  };
}

const numberOf = (placeholder) => {
  const digits = /^<session-(\d+)>$/.exec(placeholder ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
};

function sessionOf(headers) {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === 'mcp-session-id');
  return name === undefined ? undefined : numberOf(headers[name]);
}

/** Header values that repeat the body, or name the session, become placeholders. */
function generalised(headers, body) {
  const replaced = {
    'mcp-session-id': '<session>',
    ...(body?.method === undefined ? {} : { 'mcp-method': '<method>' }),
    ...(body?.params?.name === undefined && body?.params?.uri === undefined ? {} : { 'mcp-name': '<name>' }),
  };
  const value = {
    'mcp-method': body?.method,
    'mcp-name': body?.params?.name ?? body?.params?.uri,
  };
  // Sorted: the order of headers means nothing, and some clients shuffle it.
  const sorted = Object.entries(headers).toSorted(([one], [other]) => one.localeCompare(other));
  return Object.fromEntries(
    sorted.map(([name, text]) => {
      const key = name.toLowerCase();
      const same = key === 'mcp-session-id' || value[key] === text;
      return [name, same && replaced[key] !== undefined ? replaced[key] : text];
    }),
  );
}

/** The body without `jsonrpc` and without those `_meta` members that come again and again. */
function withoutMeta(body) {
  if (body === undefined) {
    return {};
  }
  const { jsonrpc: _, ...message } = body;
  const { progressToken, ...meta } = body.params?._meta ?? {};
  if (Object.keys(meta).length === 0) {
    return { message };
  }
  const { _meta: __, ...params } = body.params;
  const own = progressToken === undefined ? {} : { _meta: { progressToken } };
  return { message: { ...message, params: { ...params, ...own } }, meta };
}

const REQUESTS = {
  initialize: 'opened',
  'server/discover': 'discovered',
  'subscriptions/listen': 'listening',
  'tools/list': 'listed',
  'prompts/list': 'listed',
  'resources/list': 'listed',
  'resources/templates/list': 'listed',
  'tools/call': 'called',
  'resources/read': 'read',
  'prompts/get': 'prompted',
  'logging/setLevel': 'levelled',
  ping: 'pinged',
};
const MODERN = 'io.modelcontextprotocol/protocolVersion';

/** What the gateway owes for this request, by rule: what the recorded server answered does not matter. */
function expected({ method, path, body }, session, ended) {
  if (path !== '/mcp') {
    return 'absent';
  }
  if (session !== undefined && ended.has(session)) {
    return 'gone';
  }
  if (method !== 'POST') {
    return session === undefined ? 'refused' : method === 'DELETE' ? 'ended' : 'streaming';
  }
  const modern = body.params?._meta?.[MODERN] !== undefined;
  if (!modern && session === undefined && body.method !== 'initialize') {
    return 'homeless';
  }
  return body.method === undefined || body.method.startsWith('notifications/')
    ? 'accepted'
    : REQUESTS[body.method];
}

const [, , folder] = argv;
if (folder === undefined) {
  console.error('usage: compact.mjs FOLDER');
  exit(2);
}
const readFile = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const [id, files] of Object.entries(readFile('index.json'))) {
  const overHttp = Object.entries(files).filter(([variant]) => variant.startsWith('http-'));
  if (overHttp.length > 0) {
    writeFileSync(join(OUT, `${id}.json`), fixture(id, overHttp, readFile));
  }
}
console.log(`${readdirSync(OUT).length} clients`);
