/** Everybody there is. Alice and Amy may use the same, and have nothing in common besides; Bob may use other things. */
export const PEOPLE = {
  alice: { groups: ['red'] },
  amy: { groups: ['red'] },
  bob: { groups: ['blue'] },
  ops: { groups: ['ops'] },
} as const;

export type Person = keyof typeof PEOPLE;
/** Whose a text is: one person's, or that of all who have the same rights. */
export type Owner = Person | 'red' | 'blue';

const SECRET = /secret-of-(\w+)\(([^)]*)\)/g;

/** A text that only its owners may ever get to see; `place` says where it stands. */
export function secret(owner: Owner, place: string): string {
  return `secret-of-${owner}(${place})`;
}

/** Where the secrets stood that are in a text, by their owners. */
export function secretsIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, owner = '', place = ''] of text.matchAll(SECRET)) {
    found.set(owner, (found.get(owner) ?? new Set()).add(place));
  }
  return found;
}

/** The secrets in a text that are none of this person's. */
export function foreignIn(text: unknown, person: Person): readonly string[] {
  const own: readonly string[] = [person, ...PEOPLE[person].groups];
  return [...secretsIn(typeof text === 'string' ? text : JSON.stringify(text))]
    .filter(([owner]) => !own.includes(owner))
    .flatMap(([owner, places]) => [...places].map((place) => secret(owner as Owner, place)));
}
