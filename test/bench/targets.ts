import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTokenIssuer } from '../kit/token-issuer.ts';
import { PEERS } from './peers.ts';
import { Absent, dotted, type Setting, same, type Target, urlOf } from './target.ts';

const HERE = import.meta.dirname;
const KEY = 'bench-key-of-the-only-client';
const AUDIENCE = 'https://bench.example/mcp';

interface Told {
  readonly config?: object;
  /** Settings of each of its upstreams. */
  readonly upstream?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Patchbay as its operators run it: argument checks and metrics as they are by default, logs at warn. */
function patchbay(more: (setting: Setting) => Told | Promise<Told> = () => ({})): Target {
  return {
    merges: true,
    kinds: ['http', 'stdio'],
    eras: ['modern', 'legacy'],
    tool: dotted,
    start: async (setting) => {
      const { port, folder, servers, pageSize, main } = setting;
      const { config = {}, headers = {}, upstream = {} } = await more(setting);
      const upstreams = Object.entries(servers).map(([id, server]) => {
        if ('url' in server) {
          return [id, { url: server.url, ...upstream }];
        }
        const [command, ...args] = server.command;
        return [id, { command, args, ...upstream }];
      });
      const file = join(folder, 'gateway.yaml');
      const settings = {
        listen: { port },
        stateDir: folder,
        lists: { pageSize },
        upstreams: Object.fromEntries(upstreams),
        ...config,
      };
      writeFileSync(file, JSON.stringify(settings)); // JSON is YAML
      return {
        command: [process.execPath, main, 'serve', '-c', file, '--log-level', 'warn'],
        path: '/mcp',
        headers,
      };
    },
  };
}

const RULES: Told = {
  config: {
    auth: {
      mode: 'keys',
      keys: [{ id: 'bench', sha256: createHash('sha256').update(KEY).digest('hex'), groups: ['staff'] }],
    },
    access: [
      { who: { groups: ['others'] }, allow: ['none.*'] },
      { who: { groups: ['staff'] }, allow: ['*'] },
    ],
  },
  headers: { authorization: `Bearer ${KEY}` },
};

async function withTokens({ stack }: Setting): Promise<Told> {
  const issuer = stack.use(await startTokenIssuer());
  const auth = { mode: 'jwt', jwt: { issuer: issuer.issuer, audience: [AUDIENCE] } };
  const token = await issuer.token(AUDIENCE, { claims: { exp: Math.floor(Date.now() / 1_000) + 86_400 } });
  return { config: { auth }, headers: { authorization: `Bearer ${token}` } };
}

/** What can be switched on, each by itself, to see what it costs: `patchbay+NAME`. */
const FEATURES: Readonly<Record<string, (setting: Setting) => Told | Promise<Told>>> = {
  rules: () => RULES,
  jwt: withTokens,
  audit: ({ folder }) => ({ config: { audit: { file: join(folder, 'audit.jsonl') } } }),
  tracing: () => ({ config: { tracing: { enabled: true, endpoint: 'http://127.0.0.1:9/v1/traces' } } }),
  unmetered: () => ({ config: { metrics: { enabled: false } } }),
  results: () => ({ upstream: { validate: { results: 'enforce' } } }),
};

function bare(...flags: readonly string[]): Target {
  return {
    ...proxy,
    start: (setting) => ({
      command: [
        process.execPath,
        join(HERE, 'bare-proxy.ts'),
        String(setting.port),
        urlOf(setting),
        ...flags,
      ],
      path: '/mcp',
    }),
  };
}

const proxy = { merges: false, kinds: ['http'], eras: ['modern', 'legacy'], tool: same } as const;

/** Any further one is one entry here, or in `peers.ts`. */
export const TARGETS: Readonly<Record<string, Target>> = {
  /** Nothing in between; in a cold start, the servers themselves. */
  direct: {
    ...proxy,
    kinds: ['http'],
    start: (setting) => ({
      command: [],
      path: urlOf(setting) === '' ? '/' : new URL(urlOf(setting)).pathname,
    }),
  },
  bare: bare(),
  'bare+reads': bare('--reads'),
  nginx: { ...proxy, start: nginx },
  patchbay: patchbay(),
  ...Object.fromEntries(
    Object.entries(FEATURES).map(([name, more]): [string, Target] => [
      `patchbay+${name}`,
      { ...patchbay(more), structured: name === 'results' },
    ]),
  ),
  ...PEERS,
};

/** Names that stand for several targets. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  own: [
    'direct',
    'bare',
    'bare+reads',
    'patchbay',
    'patchbay+rules',
    'direct:legacy',
    'bare:legacy',
    'bare+reads:legacy',
    'patchbay:legacy',
    'patchbay+rules:legacy',
  ],
  peers: ['nginx', ...Object.keys(PEERS)],
  features: ['bare', 'patchbay', ...Object.keys(FEATURES).map((name) => `patchbay+${name}`)],
};

export function targetOf(name: string): Target {
  const found = Object.hasOwn(TARGETS, name) ? TARGETS[name] : undefined;
  if (found === undefined) {
    throw new Error(`no target ${name}: there are ${Object.keys(TARGETS).join(', ')}`);
  }
  return found;
}

function nginx(setting: Setting) {
  if (spawnSync('nginx', ['-v']).error !== undefined) {
    throw new Absent('nginx is not installed');
  }
  const { port, folder } = setting;
  const { host, pathname } = new URL(urlOf(setting));
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log stderr warn; worker_processes 1;
     events { worker_connections 2048; }
     http { access_log off; client_max_body_size 16m; client_body_buffer_size 2m;
       client_body_temp_path ${folder}; proxy_temp_path ${folder};
       fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
       upstream behind { server ${host}; keepalive 256; }
       server { listen 127.0.0.1:${port}; keepalive_requests 100000000;
         location / { proxy_pass http://behind${pathname}; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
  );
  return { command: ['nginx', '-c', file], path: '/' };
}
