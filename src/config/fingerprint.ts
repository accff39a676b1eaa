import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { isObject } from '../base/json.ts';
import { at, LIVE, leavesOf, type SettingsDiff } from './diff.ts';
import { pathText } from './problems.ts';
import { SETTINGS, type Settings, type UpstreamSettings } from './settings.ts';

/**
 * What a configuration is, without any of its values: enough to say where another one differs. Digests of keys that may
 * hold a secret are made with a key that only machines with the sealing key have, so that nobody else can guess a short
 * one. Shape in docs/api.md.
 */
export interface Fingerprint {
  readonly version: 1;
  /** Which sealing key the sealed digests are made with; says nothing of the key. */
  readonly keyId: string;
  /** By path, outside of upstreams. */
  readonly keys: Readonly<Record<string, KeyPrint & { readonly fixed: boolean }>>;
  /** In the order of the configuration, with all of their keys. */
  readonly upstreams: readonly { readonly id: string; readonly keys: Readonly<Record<string, KeyPrint>> }[];
}

interface KeyPrint {
  /** Whether the digest can only be compared with the same sealing key. */
  readonly sealed: boolean;
  /** null: the key is absent. */
  readonly digest: string | null;
}

/** What another configuration changes for a running gateway of which only the {@link Fingerprint} is known. */
export interface FingerprintDiff extends SettingsDiff {
  /** Keys that could not be compared without the sealing key of the gateway, or that one of the two does not know. */
  readonly uncompared: readonly string[];
}

/** Sections whose values an operator may see, or that everybody can try out. Anything else may hold a secret. */
const OPEN_SECTIONS: ReadonlySet<string> = new Set([
  'name',
  'instructions',
  'access',
  'operators',
  'views',
  'naming',
  'pins',
  'lists',
  'changes',
  'sessions',
  'streams',
  'legacySse',
  'questions',
  'limits',
  'shutdown',
]);
const OPEN_PATHS: ReadonlySet<string> = new Set(['auth.mode', 'auth.allowAnonymous']);
const OPEN_OF_UPSTREAMS: ReadonlySet<string> = new Set([
  'kind',
  'enabled',
  'optional',
  'namespace',
  'protocol',
  'transport',
  'isolation',
  'tools',
  'pins',
  'trust',
  'instructions',
  'timeouts',
  'limits',
  'cache',
  'restart',
  'start',
  'retry',
  'stop',
  'idleStop',
]);

const DIGEST_LENGTH = 22;
const KEY_BYTES = 32;

/** `sealingKey`: the 32 bytes that the gateway seals with. */
export function fingerprint(settings: Settings, sealingKey: Buffer): Fingerprint {
  const key = Buffer.from(hkdfSync('sha256', sealingKey, '', 'patchbay config digest', KEY_BYTES));
  const print = (path: string, value: unknown, open: boolean): KeyPrint => {
    const hash = open ? createHash('sha256') : createHmac('sha256', key);
    const text = JSON.stringify([path, sorted(value)]);
    return {
      sealed: !open,
      digest: value === undefined ? null : hash.update(text).digest('base64url').slice(0, DIGEST_LENGTH),
    };
  };
  const keys = leavesOf(SETTINGS).map(({ path, fixed }) => {
    const text = pathText(path);
    const open = OPEN_SECTIONS.has(path[0] ?? '') || OPEN_PATHS.has(text);
    return [text, { ...print(text, at(settings, path), open), fixed }] as const;
  });
  const ofUpstream = (upstream: UpstreamSettings) =>
    Object.entries(upstream)
      .filter(([name]) => name !== 'id')
      .map(([name, value]) => [name, print(name, value, OPEN_OF_UPSTREAMS.has(name))] as const);
  return {
    version: 1,
    keyId: createHmac('sha256', key).update('id').digest('base64url').slice(0, DIGEST_LENGTH),
    keys: Object.fromEntries(keys),
    upstreams: Object.values(settings.upstreams).map((upstream) => ({
      id: upstream.id,
      keys: Object.fromEntries(ofUpstream(upstream)),
    })),
  };
}

/** What `next` changes for a gateway that runs by `running`. */
export function compareFingerprints(running: Fingerprint, next: Fingerprint): FingerprintDiff {
  const sameKey = running.keyId === next.keyId;
  const uncompared: string[] = [];
  const differing = (
    before: Readonly<Record<string, KeyPrint>>,
    after: Readonly<Record<string, KeyPrint>>,
    under: string,
  ) =>
    [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => {
      const outcome = compared(before[name], after[name], sameKey);
      if (outcome === 'unknown') {
        uncompared.push(`${under}${name}`);
      }
      return outcome === 'differs';
    });
  const keys = differing(running.keys, next.keys, '');
  const fixed = (name: string) => (next.keys[name] ?? running.keys[name])?.fixed === true;
  const old = new Map(running.upstreams.map(({ id, keys: theirs }) => [id, theirs]));
  const now = new Map(next.upstreams.map(({ id, keys: theirs }) => [id, theirs]));
  const both = [...now].flatMap(([id, after]) => {
    const before = old.get(id);
    const names = before === undefined ? [] : differing(before, after, `upstreams.${id}.`);
    return names.length === 0 ? [] : [{ id, restarts: names.some((name) => !LIVE.has(name)) }];
  });
  const order = (ids: Iterable<string>, other: ReadonlyMap<string, unknown>) =>
    [...ids].filter((id) => other.has(id)).join();
  return {
    upstreams: {
      added: [...now.keys()].filter((id) => !old.has(id)),
      removed: [...old.keys()].filter((id) => !now.has(id)),
      restarted: both.filter(({ restarts }) => restarts).map(({ id }) => id),
      changed: both.filter(({ restarts }) => !restarts).map(({ id }) => id),
    },
    changed: [
      ...keys.filter((name) => !fixed(name)),
      ...(order(old.keys(), now) === order(now.keys(), old) ? [] : ['upstreams (order)']),
    ],
    needRestart: keys.filter(fixed),
    uncompared,
  };
}

/** A key that is absent on both sides is the same; that one is there and the other is not shows without any digest. */
function compared(
  before: KeyPrint | undefined,
  after: KeyPrint | undefined,
  sameKey: boolean,
): 'same' | 'differs' | 'unknown' {
  const [old, now] = [before?.digest ?? null, after?.digest ?? null];
  if (old === null || now === null) {
    return old === now ? 'same' : 'differs';
  }
  const comparable = before?.sealed === false && after?.sealed === false;
  return comparable || sameKey ? (old === now ? 'same' : 'differs') : 'unknown';
}

/** The order of keys does not count. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  return isObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .toSorted()
          .map((key) => [key, sorted(value[key])]),
      )
    : value;
}

/** Whether a value from elsewhere is one that this release can compare with. */
export function isFingerprint(value: unknown): value is Fingerprint {
  return (
    isObject(value) &&
    value['version'] === 1 &&
    typeof value['keyId'] === 'string' &&
    isPrints(value['keys']) &&
    Array.isArray(value['upstreams']) &&
    value['upstreams'].every(
      (each) => isObject(each) && typeof each['id'] === 'string' && isPrints(each['keys']),
    )
  );
}

function isPrints(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.values(value).every(
      (print) => isObject(print) && (print['digest'] === null || typeof print['digest'] === 'string'),
    )
  );
}
