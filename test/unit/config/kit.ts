import { type Loaded, type ParseOptions, parseSettings } from '../../../src/config/load.ts';
import { ConfigError, formatProblems } from '../../../src/config/problems.ts';
import type { UpstreamSettings } from '../../../src/config/settings.ts';

/** Parses `text` as `/etc/patchbay/gateway.yaml`, in an empty environment and without secret files. */
export function parse(text: string, options: Partial<ParseOptions> = {}): Loaded {
  const readFile = () => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  };
  return parseSettings(text, { file: '/etc/patchbay/gateway.yaml', env: {}, readFile, ...options });
}

export function upstream(loaded: Loaded, id: string): UpstreamSettings {
  const found = loaded.settings.upstreams[id];
  if (found === undefined) {
    throw new Error(`no upstream ${id}`);
  }
  return found;
}

/** The error that `text` is refused with. */
export function refusal(text: string, options: Partial<ParseOptions> = {}): ConfigError {
  try {
    parse(text, options);
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      return thrown;
    }
    throw thrown;
  }
  throw new Error('the text was accepted');
}

/** What is wrong with `text`, as a person reads it, without the name of the file. */
export function report(text: string, options: Partial<ParseOptions> = {}): readonly string[] {
  return formatProblems(refusal(text, options).problems, 'f').replaceAll(/^f:?/gm, '').split('\n');
}
