import { ANONYMOUS } from '../access/principal.ts';
import type { CatalogFinding } from '../catalog/part.ts';
import type { Gateway } from '../gateway.ts';
import type { VettingFinding } from '../vetting/finding.ts';
import { lint } from '../vetting/lint.ts';
import type { LockState } from '../vetting/lock.ts';
import { asSaid, asServed } from '../vetting/offered.ts';
import { lockFindings } from '../vetting/pins.ts';
import type { OnChange } from '../vetting/quarantine.ts';

/** What the catalog found while it was read, or what was found in it. */
export type AnyFinding = CatalogFinding | VettingFinding;

/** Everything odd in what the servers say of themselves now, and how that differs from what was approved. */
export function vetted(
  gateway: Gateway,
  { lock, onChange }: { readonly lock: LockState; readonly onChange: OnChange },
): readonly VettingFinding[] {
  const parts = [...gateway.store.current.parts.values()];
  const told = (id: string) => instructionsOf(gateway, id);
  return [
    ...lint(parts.map((part) => asServed(part, told(part.upstream)))),
    ...lockFindings(
      lock,
      parts.map((part) => asSaid(part, told(part.upstream))),
      onChange,
    ),
  ];
}

/** What a server tells everybody for the model; undefined where it tells nothing, or the configuration does not pass it on. */
export function instructionsOf({ fleet }: Gateway, upstream: string): string | undefined {
  return fleet.settings(upstream).instructions ? fleet.toldTo(upstream, ANONYMOUS)?.instructions : undefined;
}
