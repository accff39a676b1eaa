import { createHash } from 'node:crypto';
import type { UpstreamSettings } from '../config/settings.ts';
import type { Replicas } from '../upstream/replicas.ts';
import type { Share } from '../upstream/told.ts';
import type { Peers } from './peers.ts';

const TOPIC = 'upstream-told';
/** Longest of what a server says of itself that is worth telling every replica, in characters of JSON. */
const LONGEST = 65_536;

interface SharedTermsOptions {
  readonly peers: Peers;
  /** By the configuration that this replica runs by now; undefined: it has no such upstream. */
  readonly settings: (upstream: string) => UpstreamSettings | undefined;
  readonly heard: (upstream: string, ...told: Parameters<Share>) => void;
}

/**
 * What servers that know their users say of themselves to each of them, told to every other replica: the next greeting of
 * that user may come to any. One whose configuration names another server under that id takes no notice.
 */
export function sharedTerms({ peers, settings, heard }: SharedTermsOptions): Replicas['told'] {
  peers.onTold(TOPIC, (body) => {
    // Told below, with these types.
    const { upstream, server, grant, terms } = body as unknown as Told;
    const mine = settings(upstream);
    if (mine !== undefined && serverOf(mine) === server) {
      heard(upstream, grant, terms ?? undefined);
    }
  });
  return (upstream, grant, terms) => {
    const tooLong = JSON.stringify(terms ?? null).length > LONGEST;
    const told: Told = { upstream: upstream.id, server: serverOf(upstream), grant, terms: terms ?? null };
    peers.tell(TOPIC, { ...told, ...(tooLong ? { terms: null } : {}) });
  };
}

interface Told {
  readonly upstream: string;
  readonly server: string;
  readonly grant: string;
  readonly terms: NonNullable<Parameters<Share>[1]> | null;
}

/** Where it is and what it is signed in to with. */
function serverOf(upstream: UpstreamSettings): string {
  const where = upstream.kind === 'http' ? [upstream.url, upstream.credentials] : [];
  return createHash('sha256')
    .update(JSON.stringify([upstream.kind, ...where]))
    .digest('base64url');
}
