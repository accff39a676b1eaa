import type { Overview } from '../observe/overview.ts';
import type { CatalogReport } from '../relay/catalog-report.ts';
import type { Gaze } from '../relay/explain-options.ts';
import type { AnyFinding, Explanation } from '../relay/explanation.ts';

export interface CatalogQuery extends Gaze {
  readonly from: number;
  readonly limit: number;
  readonly definitions: boolean;
}

/**
 * What operators may ask of a running gateway, and nobody else. All of it is the state of this moment: nothing is waited
 * for, started or asked. They throw QUERY_INVALID, or reject with it, for a principal that cannot be imagined or a view that is not there.
 */
export interface Operations {
  status(): Overview<AnyFinding>;
  explain(name: string, gaze: Gaze): Promise<Explanation>;
  catalog(query: CatalogQuery): Promise<CatalogReport>;
  /** A Fingerprint, see config/fingerprint.ts: where another configuration differs, without any value. */
  config(): object;
}
