import { BlockList, isIP } from 'node:net';
import { resolve } from 'node:path';
import { checkAccess, checkCredentials, OWN_CREDENTIALS } from './check-access.ts';
import type { Path } from './problems.ts';
import type { Settings, SettingsFile, UpstreamSettings } from './settings.ts';

/** Reports a mistake that no single value shows. */
type Report = (path: Path, message: string) => void;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach a server that listens on `host`. */
function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0
    ? host.toLowerCase() === 'localhost'
    : loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Rules that hold between values; reports each that is broken. */
export function check(settings: Settings, report: Report): void {
  const { auth, listen, upstreams } = settings;
  checkAccess(settings, report);
  if (auth.mode === 'none' && !auth.allowAnonymous && !isLoopback(listen.host)) {
    const message = 'on an address that is not loopback, "auth.mode: none" needs "auth.allowAnonymous: true"';
    report(['listen', 'host'], message);
  }
  for (const [index, origin] of listen.allowedOrigins.entries()) {
    if (/^https?:/i.test(origin) && !isAsSent(origin)) {
      const message =
        'browsers send it in small letters and without the port that its scheme has anyway: this never matches';
      report(['listen', 'allowedOrigins', index], message);
    }
  }
  checkState(settings, report);
  const owners = new Map<string, string>();
  for (const upstream of Object.values(upstreams)) {
    checkUpstream(upstream, report);
    checkCredentials(upstream, auth.mode, report);
    const owner = owners.get(upstream.namespace);
    if (owner !== undefined) {
      const namespace =
        upstream.namespace === '' ? 'only one upstream can have the empty one' : 'it is taken';
      report(['upstreams', upstream.id, 'namespace'], `${namespace}, and "${owner}" has it`);
    }
    owners.set(upstream.namespace, owner ?? upstream.id);
  }
}

function isAsSent(origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).origin === origin;
}

function checkState({ state, sealingKey }: Settings, report: Report): void {
  if (state.type === 'redis' && state.url === undefined) {
    report(['state', 'url'], '"state.type: redis" needs it');
  }
  if (state.url !== undefined && !isRedisUrl(state.url)) {
    report(
      ['state', 'url'],
      'must be a complete URL, such as redis://host:6379, with nothing or a number after the host',
    );
  }
  if (state.type === 'redis' && sealingKey === undefined) {
    report(['state', 'type'], '"redis" needs a "sealingKey", the same for all replicas');
  }
}

/** Whether the client library can read it: what it cannot, it throws for at the first connection. */
function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) {
    return false;
  }
  const { hostname, pathname, username, password } = new URL(text);
  return hostname !== '' && /^(?:\/\d*)?$/.test(pathname) && isEncoded(username) && isEncoded(password);
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false; // a `%` that begins no escape
  }
}

function checkUpstream(upstream: UpstreamSettings, report: Report): void {
  const { timeouts, restart } = upstream;
  const path = ['upstreams', upstream.id];
  if (timeouts.call > timeouts.total) {
    report([...path, 'timeouts'], '"call" is longer than "total", which bounds it: raise "total" too');
  }
  if (restart.base > restart.cap) {
    report([...path, 'restart'], '"base" is longer than "cap", which bounds it: raise "cap" too');
  }
  const seen = new Set<string>();
  for (const name of upstream.kind === 'http' ? Object.keys(upstream.headers) : []) {
    if (seen.has(name.toLowerCase())) {
      report([...path, 'headers', name], 'this header stands here twice; case does not count');
    }
    seen.add(name.toLowerCase());
  }
}

/** What the file cannot say by itself. */
export interface Surroundings {
  /** Folder of the file: relative paths in it start here. */
  readonly folder: string;
  readonly host?: string;
  readonly port?: number;
  /** By id of the upstream: what it needs and does not have. */
  readonly lacking: ReadonlyMap<string, string>;
}

/** The settings that a file stands for: ids, kinds, absolute paths, overrides. */
export function complete(file: SettingsFile, around: Surroundings): Settings {
  const upstreams: Record<string, UpstreamSettings> = Object.create(null);
  for (const [id, entry] of Object.entries(file.upstreams)) {
    upstreams[id] = completeUpstream(id, entry, file, around);
  }
  const { host = file.listen.host, port = file.listen.port } = around;
  const state = file.stateDir === undefined ? {} : { stateDir: resolve(around.folder, file.stateDir) };
  const { file: log } = file.audit;
  const audit = { ...file.audit, ...(isPath(log) ? { file: resolve(around.folder, log) } : {}) };
  const views = Object.fromEntries(
    Object.entries(file.views).map(([name, view]) => [
      name,
      { ...view, naming: view.naming ?? file.naming.style },
    ]),
  );
  return { ...file, ...state, listen: { ...file.listen, host, port }, audit, views, upstreams };
}

/** `-` is stdout. */
function isPath(file: string | undefined): file is string {
  return file !== undefined && file !== '-';
}

type Entry = SettingsFile['upstreams'][string];

/** Whether what it is signed in to with is the calling user's own. */
function hasOwnCredential(entry: Entry): boolean {
  return 'url' in entry && OWN_CREDENTIALS.has(entry.credentials.type);
}

function completeUpstream(
  id: string,
  entry: Entry,
  { pins, vetting }: Pick<SettingsFile, 'pins' | 'vetting'>,
  { folder, lacking }: Surroundings,
): UpstreamSettings {
  const reason = lacking.get(id);
  const off = reason === undefined || !entry.enabled ? {} : { enabled: false, disabledReason: reason };
  // Not every entry that was read has all of these: they are the keys whose default is another value.
  const isolation = entry.isolation ?? (hasOwnCredential(entry) ? 'user' : 'shared');
  const named = {
    id,
    namespace: entry.namespace ?? id,
    isolation,
    pins: { ...pins, ...entry.pins },
    vetting: { ...vetting, ...entry.vetting },
    ...off,
  };
  if ('command' in entry) {
    return { ...entry, ...named, kind: 'stdio', cwd: resolve(folder, entry.cwd ?? '') };
  }
  return { ...entry, ...named, kind: 'http', headers: worthSending(entry.headers) };
}

/**
 * A header without a value is not sent, and neither is an `Authorization` with a scheme and nothing after it, which is
 * what an empty variable leaves of `Bearer ${env:X}`: an empty secret must never look like one.
 */
function worthSending(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    const text = value.trim();
    const isBareScheme = name.toLowerCase() === 'authorization' && /^(bearer|basic)$/i.test(text);
    if (text !== '' && !isBareScheme) {
      kept[name] = text;
    }
  }
  return kept;
}
