import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The servers that a target stands in front of, and where it may leave files. */
export interface Setting {
  readonly port: number;
  readonly folder: string;
  /** By id: the URL of one over HTTP, or the command of one over stdio. */
  readonly servers: Readonly<
    Record<string, { readonly url: string } | { readonly command: readonly string[] }>
  >;
}

export interface Start {
  readonly command: readonly string[];
  /** Path of its endpoint. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Target {
  /** What it can stand in front of. One that does not `merge` gets one server, with all the tools. */
  readonly merges: boolean;
  readonly kinds: readonly ('http' | 'stdio')[];
  readonly eras: readonly ('modern' | 'legacy')[];
  /** The name under which a tool of a server is called. */
  readonly tool: (server: string, tool: string) => string;
  /** Undefined where the program is not there. */
  readonly start: (setting: Setting) => Start | undefined;
}

const HERE = import.meta.dirname;
const ROOT = join(HERE, '../..');
const KEY = 'bench-key-of-the-only-client';
const bare = (_server: string, tool: string) => tool;
const dotted = (server: string, tool: string) => `${server}.${tool}`;

function urlOf({ servers }: Setting): string {
  const [first] = Object.values(servers);
  return first !== undefined && 'url' in first ? first.url : '';
}

/** Patchbay as its operators run it: argument checks and metrics as they are by default, logs at warn. */
function patchbay(more: object = {}, headers: Readonly<Record<string, string>> = {}): Target {
  return {
    merges: true,
    kinds: ['http', 'stdio'],
    eras: ['modern', 'legacy'],
    tool: dotted,
    start: ({ port, folder, servers }) => {
      const upstreams = Object.fromEntries(
        Object.entries(servers).map(([id, server]) => {
          if ('url' in server) {
            return [id, { url: server.url }];
          }
          const [command, ...args] = server.command;
          return [id, { command, args }];
        }),
      );
      const file = join(folder, `patchbay-${port}.yaml`);
      const config = {
        listen: { port },
        stateDir: folder,
        upstreams,
        ...more,
      };
      writeFileSync(file, JSON.stringify(config)); // JSON is YAML
      const main = join(ROOT, 'dist/main.js');
      return {
        command: [process.execPath, main, 'serve', '-c', file, '--log-level', 'warn'],
        path: '/mcp',
        headers,
      };
    },
  };
}

const WITH_RULES = {
  auth: {
    mode: 'keys',
    keys: [{ id: 'bench', sha256: createHash('sha256').update(KEY).digest('hex'), groups: ['staff'] }],
  },
  access: [
    { who: { groups: ['others'] }, allow: ['none.*'] },
    { who: { groups: ['staff'] }, allow: ['*'] },
  ],
};

/** Any peer is one entry here. */
export const TARGETS: Readonly<Record<string, Target>> = {
  direct: {
    merges: false,
    kinds: ['http'],
    eras: ['modern', 'legacy'],
    tool: bare,
    // Nothing in between: see run.ts.
    start: (setting) => ({ command: [], path: new URL(urlOf(setting)).pathname }),
  },
  bare: {
    merges: false,
    kinds: ['http'],
    eras: ['modern', 'legacy'],
    tool: bare,
    start: (setting) => ({
      command: [process.execPath, join(HERE, 'bare-proxy.ts'), String(setting.port), urlOf(setting)],
      path: '/mcp',
    }),
  },
  nginx: {
    merges: false,
    kinds: ['http'],
    eras: ['modern', 'legacy'],
    tool: bare,
    start: (setting) => {
      if (spawnSync('nginx', ['-v']).error !== undefined) {
        return undefined;
      }
      const { host, pathname } = new URL(urlOf(setting));
      const file = join(setting.folder, 'nginx.conf');
      writeFileSync(
        file,
        `daemon off; pid ${setting.folder}/nginx.pid; error_log stderr warn; worker_processes 1;
         events { worker_connections 2048; }
         http { access_log off; client_max_body_size 16m; client_body_buffer_size 2m;
           client_body_temp_path ${setting.folder}; proxy_temp_path ${setting.folder};
           fastcgi_temp_path ${setting.folder}; uwsgi_temp_path ${setting.folder}; scgi_temp_path ${setting.folder};
           upstream behind { server ${host}; keepalive 256; }
           server { listen 127.0.0.1:${setting.port}; keepalive_requests 100000000;
             location / { proxy_pass http://behind${pathname}; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
      );
      return { command: ['nginx', '-c', file], path: '/' };
    },
  },
  patchbay: patchbay(),
  'patchbay+rules': patchbay(WITH_RULES, { authorization: `Bearer ${KEY}` }),
};
