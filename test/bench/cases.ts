/** What a target has to do. */
export interface Case {
  /** Heading of its column. */
  readonly title: string;
  /** Servers behind one that merges them, and tools of each; any other target gets one server with all the tools. */
  readonly servers: number;
  readonly tools: number;
  readonly kind: 'http' | 'stdio';
  readonly callers: number;
  /** Bytes of the echo; undefined for a list. */
  readonly bytes?: number;
  /** Tools on one page, of the servers and of Patchbay; undefined: one page. */
  readonly pageSize?: number;
  /** Measured is the time from the start of the process to the first complete list, not a load. */
  readonly cold?: boolean;
  /** Where `bare` has no figure of its own in this case: the target and the case that stand for it. */
  readonly floor?: { readonly target: string; readonly name: string };
}

function echo(callers: number, title: string, more: Partial<Case> = {}): Case {
  return { title, servers: 1, tools: 20, kind: 'http', callers, bytes: 100, ...more };
}

function list(tools: number, title: string, more: Partial<Case> = {}): Case {
  return { title, servers: 20, tools: tools / 20, kind: 'http', callers: 4, ...more };
}

/** The columns of the tables, in their order. */
export const CASES: Readonly<Record<string, Case>> = {
  c1: echo(1, '1 caller'),
  c16: echo(16, '16'),
  c64: echo(64, '64'),
  c256: echo(256, '256'),
  '10k': echo(16, '10 KB ×16', { bytes: 10_000 }),
  '1m': echo(4, '1 MB ×4', { bytes: 1_000_000 }),
  list: list(400, 'list of 400 ×4'),
  list2000: list(2_000, 'list of 2,000 ×4'),
  paged2000: list(2_000, '2,000 in pages of 200 ×4', { pageSize: 200 }),
  big: echo(16, '16, of 5,000 tools', { servers: 20, tools: 250 }),
  stdio: echo(16, 'stdio ×16', { kind: 'stdio', floor: { target: 'bare', name: 'c16' } }),
  cold: {
    title: 'cold start, ms',
    servers: 20,
    tools: 20,
    kind: 'stdio',
    callers: 1,
    cold: true,
    floor: { target: 'direct', name: 'cold' },
  },
};

export function caseOf(name: string): Case {
  const found = Object.hasOwn(CASES, name) ? CASES[name] : undefined;
  if (found === undefined) {
    throw new Error(`no case ${name}: there are ${Object.keys(CASES).join(', ')}`);
  }
  return found;
}
