import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AnyFinding, vetted } from '../../src/cli/vetted.ts';
import type { Offered } from '../../src/vetting/finding.ts';
import { SEVERITIES } from '../../src/vetting/finding-table.ts';
import { lint } from '../../src/vetting/lint.ts';
import { asServed } from '../../src/vetting/offered.ts';
import { installed } from '../bench/install.ts';
import { Absent } from '../bench/target.ts';
import { startGateway } from '../kit/start-gateway.ts';

/**
 * What `patchbay check` says about published servers, and what we think of it: `npm run vetting -- --servers`. Each is
 * installed into the temporary folder when it is first needed, without running its scripts, and started alone, with tokens
 * that are none.
 */

interface Published {
  readonly name: string;
  readonly version: string;
  /** Of its programs, where it has more than one. */
  readonly program?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const NO_TOKEN = 'none';

const SERVERS: Readonly<Record<string, Published>> = {
  everything: { name: '@modelcontextprotocol/server-everything', version: '2026.8.31' },
  filesystem: { name: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', args: [tmpdir()] },
  memory: { name: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
  thinking: { name: '@modelcontextprotocol/server-sequential-thinking', version: '2026.8.31' },
  github: {
    name: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: NO_TOKEN },
  },
  slack: {
    name: '@modelcontextprotocol/server-slack',
    version: '2025.4.25',
    env: { SLACK_BOT_TOKEN: NO_TOKEN, SLACK_TEAM_ID: NO_TOKEN },
  },
  maps: {
    name: '@modelcontextprotocol/server-google-maps',
    version: '0.6.2',
    env: { GOOGLE_MAPS_API_KEY: NO_TOKEN },
  },
  context7: { name: '@upstash/context7-mcp', version: '4.1.1' },
  notion: { name: '@notionhq/notion-mcp-server', version: '2.5.2', env: { NOTION_TOKEN: NO_TOKEN } },
  playwright: { name: '@playwright/mcp', version: '0.0.83' },
  chrome: { name: 'chrome-devtools-mcp', version: '1.11.0', program: 'chrome-devtools-mcp' },
  eslint: { name: '@eslint/mcp', version: '0.3.13' },
  tavily: { name: 'tavily-mcp', version: '0.2.22', env: { TAVILY_API_KEY: NO_TOKEN } },
  firecrawl: { name: 'firecrawl-mcp', version: '3.22.2', env: { FIRECRAWL_API_KEY: NO_TOKEN } },
  chart: { name: '@antv/mcp-server-chart', version: '0.9.10' },
  circleci: { name: '@circleci/mcp-server-circleci', version: '0.20.0', env: { CIRCLECI_TOKEN: NO_TOKEN } },
  commander: { name: '@wonderwhy-er/desktop-commander', version: '0.2.52' },
  gitlab: {
    name: '@zereight/mcp-gitlab',
    version: '2.1.64',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: NO_TOKEN },
  },
  nx: { name: 'nx-mcp', version: '0.25.0' },
  next: { name: 'next-devtools-mcp', version: '0.4.0' },
  n8n: { name: 'n8n-mcp', version: '2.87.0' },
  mongodb: { name: 'mongodb-mcp-server', version: '3.0.4' },
};

/** What a maintainer of the server would say to a finding. */
export type Opinion = 'right' | 'debatable' | 'false';

/** By server, then by `id` or `id item`: the exact one counts. */
type Opinions = Readonly<Record<string, Readonly<Record<string, Opinion>>>>;

const OPINIONS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'servers-judged.json'), 'utf8'),
) as Opinions;

interface Looked {
  readonly offered: Offered;
  readonly findings: readonly AnyFinding[];
}

/** Runs the server behind a gateway of its own, and says what `check` would. */
async function look(id: string, server: Published): Promise<Looked> {
  const folder = await installed(server.name, server.version);
  const entry = {
    command: process.execPath,
    args: [programOf(join(folder, 'node_modules', server.name), server.program), ...(server.args ?? [])],
    env: { HOME: folder, DO_NOT_TRACK: '1', ...server.env },
    timeouts: { connect: '60s' },
  };
  await using started = await startGateway({ upstreams: { [id]: entry } });
  const { gateway } = started;
  await gateway.settled();
  const part = gateway.store.current.parts.get(id);
  if (part === undefined) {
    throw new Absent(`${server.name} did not start: ${gateway.readiness().upstreams[id]?.lastError ?? ''}`);
  }
  return {
    offered: asServed(part),
    findings: [...gateway.store.current.findings, ...vetted(gateway, { lock: undefined, onChange: 'warn' })],
  };
}

function programOf(folder: string, wanted: string | undefined): string {
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly bin: string | Readonly<Record<string, string>>;
  };
  const file = typeof bin === 'string' ? bin : (bin[wanted ?? ''] ?? Object.values(bin)[0]);
  if (file === undefined) {
    throw new Absent(`${folder} has no program`);
  }
  return join(folder, file);
}

function opinionOf({ upstream, id, item }: AnyFinding): Opinion | 'not judged' {
  const opinions = OPINIONS[upstream] ?? {};
  return opinions[`${id} ${item}`] ?? opinions[id] ?? 'not judged';
}

/** The table of docs/findings.md, and how many findings nobody has judged. */
export async function servers(out: (text: string) => void): Promise<number> {
  const looks = new Map<string, Looked>();
  for (const [id, server] of Object.entries(SERVERS)) {
    try {
      looks.set(id, await look(id, server));
    } catch (thrown) {
      if (!(thrown instanceof Absent)) {
        throw thrown;
      }
      out(`skipped: ${thrown.message}\n`);
    }
  }
  // Whether two servers describe a tool alike is seen only where both are there.
  const alike = lint([...looks.values()].map(({ offered }) => offered)).filter(
    ({ id }) => id === 'description.alike',
  );
  const rows: string[] = [];
  const all: AnyFinding[] = [];
  for (const [id, { offered, findings }] of looks) {
    const own = [...findings, ...alike.filter(({ upstream }) => upstream === id)].toSorted(
      (one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity),
    );
    all.push(...own);
    out(`\n${id}\n${own.map(line).join('')}`);
    rows.push(row(id, offered, own));
  }
  out(`\n| server | tools | findings | right | debatable | false |\n| --- | --- | --- | --- | --- | --- |\n`);
  out(`${rows.join('\n')}\n`);
  const [right, debatable, wrong, open] = (['right', 'debatable', 'false', 'not judged'] as const).map(
    (opinion) => all.filter((each) => opinionOf(each) === opinion).length,
  );
  out(
    `\n${all.length} findings: ${right} right, ${debatable} debatable, ${wrong} false, ${open} not judged\n`,
  );
  return open ?? 0;
}

function line(each: AnyFinding): string {
  const place = 'place' in each ? each.place : '';
  return `  [${opinionOf(each)}] ${each.severity} ${each.id} ${each.item} ${place}: ${each.reason}\n`;
}

function row(id: string, { lists }: Offered, findings: readonly AnyFinding[]): string {
  const { name = '', version = '' } = SERVERS[id] ?? {};
  const ids = [...new Set(findings.map((each) => `${each.id} (${each.severity})`))];
  const told = ids.map((each) => {
    const count = findings.filter((one) => `${one.id} (${one.severity})` === each).length;
    return `${count} × \`${each.replace(' (', '` (')}`;
  });
  const count = (opinion: Opinion) => findings.filter((each) => opinionOf(each) === opinion).length;
  return `| ${[
    `${name} ${version}`,
    lists.tools?.length ?? 0,
    told.join(', ') || 'none',
    count('right'),
    count('debatable'),
    count('false'),
  ].join(' | ')} |`;
}
