import manifest from '../../package.json' with { type: 'json' };

/** Version of this package, as its package.json says. */
export const release = (): string => manifest.version;
