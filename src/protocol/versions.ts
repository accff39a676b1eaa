import type { Era } from './model.ts';

/** Protocol versions this gateway speaks on both sides, newest first. Version strings live in this room only. */
const MODERN_VERSIONS = ['2026-07-28'] as const;
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const VERSIONS = [...MODERN_VERSIONS, ...LEGACY_VERSIONS] as const;

export const LATEST_MODERN = MODERN_VERSIONS[0];
export const LATEST_LEGACY = LEGACY_VERSIONS[0];

export function isModern(version: unknown): boolean {
  return (MODERN_VERSIONS as readonly unknown[]).includes(version);
}

export function isLegacy(version: unknown): boolean {
  return (LEGACY_VERSIONS as readonly unknown[]).includes(version);
}

/** Versions are dates, so later ones sort after earlier ones: the era of an unknown version can be told as well. */
export function eraOf(version: string): Era {
  return version >= LATEST_MODERN ? 'modern' : 'legacy';
}

/** The version a legacy server answers `initialize` with: the one asked for if spoken, else the newest legacy one. */
export function negotiateLegacy(asked: unknown): string {
  return isLegacy(asked) ? (asked as string) : LATEST_LEGACY;
}

/** The newest modern version in a peer's list that this gateway speaks too. */
export function mutualModern(supported: readonly unknown[]): string | undefined {
  return MODERN_VERSIONS.find((version) => supported.includes(version));
}
