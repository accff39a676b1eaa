/** How long ago a moment was, in one unit. */
export function ago(moment: string | number): string {
  const seconds = Math.max(0, Math.round((Date.now() - new Date(moment).getTime()) / 1_000));
  if (seconds < 60) {
    return `${seconds} s`;
  }
  if (seconds < 3_600) {
    return `${Math.floor(seconds / 60)} min`;
  }
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** The time of day of a moment, to the second. */
export function clock(iso: string): string {
  return new Date(iso).toLocaleTimeString(undefined, { hour12: false });
}

/** A duration, in the unit that suits it. */
export function inMs(ms: number): string {
  if (ms < 10_000) {
    return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
  }
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}
