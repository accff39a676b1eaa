import { fileURLToPath } from 'node:url';
import PQueue from 'p-queue';
import { startGateway } from '../kit/start-gateway.ts';
import { type Fixture, type FixtureEra, startFixture } from './fixture-server.ts';
import { startTasksFixture } from './fixture-tasks.ts';
import { clientScenarios, type Report, requirements, runClient, runExtension, runServer } from './suite.ts';

/** One comparison: what the suite says of something directly, and through a gateway. */
export interface Cell {
  /** `<version>/<era of the upstream>`, `<extension>/<upstream>`, or `client/<version>/<era of the client>`. */
  readonly id: string;
  /** Scenarios that the version demands; undefined where it demands none. */
  readonly scored: readonly string[] | undefined;
  readonly run: () => Promise<{ readonly direct: Report; readonly through: Report }>;
}

const SERVER_VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
const CLIENT_VERSIONS = ['2025-06-18', '2025-11-25', '2026-07-28'] as const;
const FIXTURES: readonly FixtureEra[] = ['legacy', 'modern', 'dual'];

type Start = () => Promise<Fixture>;
type Suite = (url: string) => Promise<Report>;

const eraOf = (version: string) => (version < '2026-07-28' ? 'legacy' : 'modern');

/** All of them. Direct runs that several need are made once. */
export function allCells(): readonly Cell[] {
  const directly = remembered();
  return [
    ...SERVER_VERSIONS.flatMap((version) =>
      FIXTURES.map((fixture) => serverCell(version, fixture, directly)),
    ),
    extensionCell('tasks', 'raw', startTasksFixture, directly),
    extensionCell('skills', 'modern', () => startFixture('modern'), directly),
    extensionCell('skills', 'dual', () => startFixture('dual'), directly),
    ...CLIENT_VERSIONS.flatMap((version) =>
      (['legacy', 'modern'] as const).map((era) => clientCell(version, era, directly)),
    ),
  ];
}

type Directly = (key: string, run: () => Promise<Report>) => Promise<Report>;

function remembered(): Directly {
  const runs = new Map<string, Promise<Report>>();
  return (key, run) => {
    const known = runs.get(key) ?? run();
    runs.set(key, known);
    return known;
  };
}

/** Where no client of the version can talk to the fixture itself, the direct run is against one of the client's era. */
function serverCell(version: string, fixture: FixtureEra, directly: Directly): Cell {
  const speaking = fixture === 'dual' ? fixture : eraOf(version);
  const suite: Suite = (url) => runServer(url, version);
  return {
    id: `${version}/${fixture}`,
    scored: requirements(version)?.server,
    run: async () => {
      const [direct, through] = await Promise.all([
        directly(`${version}/${speaking}`, () => against(() => startFixture(speaking), suite)),
        throughGateway(eraOf(version), () => startFixture(fixture), suite),
      ]);
      return { direct, through };
    },
  };
}

const PREFIXES = { tasks: 'tasks-', skills: 'sep-2640-' } as const;

function extensionCell(
  extension: keyof typeof PREFIXES,
  name: string,
  start: Start,
  directly: Directly,
): Cell {
  const suite: Suite = (url) => runExtension(url, PREFIXES[extension]);
  return {
    id: `${extension}/${name}`,
    scored: undefined,
    run: async () => {
      const [direct, through] = await Promise.all([
        directly(`${extension}/${name}`, () => against(start, suite)),
        throughGateway('modern', start, suite),
      ]);
      return { direct, through };
    },
  };
}

async function against(start: Start, suite: Suite): Promise<Report> {
  await using fixture = await start();
  return await suite(fixture.url);
}

/**
 * The suite knows its tools by hard-coded names, hence no namespace. Questions of a server of the `initialize` era need
 * an owner, hence the isolation. The neighbour has the same names and resources, and must not get in the way; methods of
 * an extension that two servers have would have no owner, so it has none. Streams of calls open early, as the scenario
 * about resuming them expects; only in the era that has sessions, since the other one answers errors with a status.
 */
async function throughGateway(era: 'legacy' | 'modern', start: Start, suite: Suite): Promise<Report> {
  await using fixture = await start();
  await using neighbour = await startFixture('dual', { skills: false });
  await using gateway = await startGateway({
    streams: era === 'legacy' ? { openAfter: '20ms' } : {},
    upstreams: {
      reference: { url: fixture.url, namespace: '', isolation: 'session' },
      neighbour: { url: neighbour.url },
    },
  });
  await gateway.gateway.settled();
  return await suite(`http://localhost:${gateway.port}/mcp`);
}

const CLIENT = fileURLToPath(new URL('client.ts', import.meta.url));
/** Each takes a process for the suite and one for the client. */
const clientRuns = new PQueue({ concurrency: 2 });

/** The suite plays the server; the client is the official one, alone or with a gateway between. */
function clientCell(version: string, era: 'legacy' | 'modern', directly: Directly): Cell {
  const all = async (way: 'direct' | 'through', speaks: string) => {
    const command = [process.execPath, CLIENT, way, speaks].join(' ');
    const scenarios = await clientScenarios(version);
    const runs = scenarios.map((scenario) => () => runClient(command, scenario, version));
    return new Map((await clientRuns.addAll(runs)).flatMap((report) => [...report]));
  };
  const own = eraOf(version);
  return {
    id: `client/${version}/${era}`,
    scored: requirements(version)?.client.filter((scenario) => !scenario.startsWith('auth/')),
    run: async () => {
      const [direct, through] = await Promise.all([
        directly(`client/${version}`, () => all('direct', own)),
        all('through', era),
      ]);
      return { direct, through };
    },
  };
}
