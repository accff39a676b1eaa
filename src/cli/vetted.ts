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
  { store, fleet }: Gateway,
  { lock, onChange }: { readonly lock: LockState; readonly onChange: OnChange },
): readonly VettingFinding[] {
  const parts = [...store.current.parts.values()];
  const told = (id: string) =>
    fleet.settings(id).instructions ? fleet.toldTo(id, ANONYMOUS)?.instructions : undefined;
  return [
    ...lint(parts.map((part) => asServed(part, told(part.upstream)))),
    ...lockFindings(lock, parts.map(asSaid), onChange),
  ];
}
