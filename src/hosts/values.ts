import type { Path } from '../config/problems.ts';
import type { Draft } from './draft.ts';
import type { Source } from './source.ts';

/** Reads the values of one server's entry. What has the wrong type is a problem with its path, never a guess. */
export class Values {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  text(key: string, value: Source): string | undefined {
    if (value.kind === 'scalar' && typeof value.value === 'string' && value.value !== '') {
      return value.value;
    }
    this.#problem([key], value, 'must be text');
    return undefined;
  }

  list(at: Path, value: Source): readonly string[] {
    if (value.kind !== 'list') {
      this.#problem(at, value, 'must be a list of texts');
      return [];
    }
    return value.items.flatMap((item, index) => {
      if (item.kind === 'scalar' && typeof item.value === 'string') {
        return [item.value];
      }
      this.#problem([...at, index], item, 'must be text: put it in quotes');
      return [];
    });
  }

  texts(at: Path, value: Source): readonly (readonly [string, string])[] {
    if (value.kind !== 'map') {
      this.#problem(at, value, 'must be a mapping of names to texts');
      return [];
    }
    const names = new Set<string>();
    return value.entries.flatMap(({ key, place, value: each }) => {
      if (names.has(key)) {
        this.#draft.about.problem([...this.#draft.path, ...at, key], place, 'this key stands here twice');
      }
      names.add(key);
      if (each.kind === 'scalar' && typeof each.value === 'string') {
        return [[key, each.value] as const];
      }
      this.#problem([...at, key], each, 'must be text: put it in quotes');
      return [];
    });
  }

  #problem(at: Path, { place }: Source, message: string): void {
    this.#draft.about.problem([...this.#draft.path, ...at], place, message);
  }
}
