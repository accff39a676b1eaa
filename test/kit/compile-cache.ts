const folder = process.env['NODE_COMPILE_CACHE'];

/**
 * What a child process whose environment is made by the test needs to find its code compiled: a start of the gateway
 * from `src` takes half the processor time then. Node compares the text of a file, so nothing in there is ever stale.
 */
export const compileCache: Readonly<Record<string, string>> =
  folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
