import type { Log } from '../base/log.ts';
import type { Settings, UpstreamSettings } from '../config/settings.ts';
import { ArgumentCheck } from './arguments.ts';
import { CompiledSchemas } from './compiled-schemas.ts';
import { ResultCheck } from './results.ts';

/** Looks at calls before they are made and at results before they are given. */
export interface Checks {
  readonly arguments: ArgumentCheck;
  readonly results: ResultCheck;
}

/** Both, with one store of compiled schemas. Settings are asked for with every call. */
export function checks(options: {
  readonly upstream: (id: string) => Pick<UpstreamSettings, 'validate'>;
  readonly settings: () => Pick<Settings, 'upstreams'>;
  readonly log: Log;
}): Checks {
  const schemas = new CompiledSchemas();
  return {
    arguments: new ArgumentCheck({ ...options, schemas }),
    results: new ResultCheck({ ...options, schemas }),
  };
}
