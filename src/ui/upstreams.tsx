import type { Status } from './api.ts';
import { Badge, Fact, Said } from './text.tsx';
import { ago, inMs } from './time.ts';

interface UpstreamsProps {
  readonly status: Status;
  /** Of calls that this page has heard of, by upstream, in ms. */
  readonly latency: ReadonlyMap<string, number>;
  readonly openCatalog: (upstream: string) => void;
}

const TONES: Readonly<Record<string, string>> = {
  ready: 'good',
  stale: 'odd',
  connecting: 'odd',
  backoff: 'odd',
  broken: 'bad',
  error: 'bad',
  warning: 'odd',
  degraded: 'bad',
  starting: 'odd',
};

/** The tone for a state or a severity. */
export function toneOf(state: string): string {
  return TONES[state] ?? 'quiet';
}

/** How the gateway and its upstreams stand. */
export function Upstreams({ status, latency, openCatalog }: UpstreamsProps) {
  const { catalog, clients, upstreams, findings } = status;
  const entries = Object.entries(upstreams);
  return (
    <main class="page">
      <h1 class="unseen">Upstreams</h1>
      <dl class="figures">
        <Figure term="Tools" value={catalog.tools} />
        <Figure term="Prompts" value={catalog.prompts} />
        <Figure term="Resources" value={catalog.resources + catalog.templates} />
        <Figure term="Withheld" value={catalog.withheld} />
        <Figure term="Sessions" value={clients.sessions} />
        <Figure term="Listeners" value={clients.listeners} />
        <Figure term="Waiting for an answer" value={clients.parkedCalls} />
      </dl>
      <Problems status={status} />
      <section aria-labelledby="upstreams-title">
        <h2 id="upstreams-title">Upstreams</h2>
        <div class="scroll" role="region" aria-labelledby="upstreams-title" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Upstream</th>
                <th scope="col">State</th>
                <th scope="col">Since</th>
                <th scope="col">Era</th>
                <th scope="col">Transport</th>
                <th scope="col" class="number">
                  Tools
                </th>
                <th scope="col" class="number">
                  Prompts
                </th>
                <th scope="col" class="number">
                  Resources
                </th>
                <th scope="col" class="number">
                  Latency
                </th>
                <th scope="col" class="number">
                  Reconnects
                </th>
                <th scope="col" class="number">
                  Failures
                </th>
                <th scope="col" class="number">
                  Findings
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map(([id, upstream]) => (
                <tr key={id}>
                  <th scope="row">
                    <button type="button" class="link" onClick={() => openCatalog(id)}>
                      {id}
                    </button>
                    {upstream.lastError !== undefined && (
                      <div class="fault">
                        <Said text={upstream.lastError} most={500} />
                      </div>
                    )}
                  </th>
                  <td>
                    <Badge tone={toneOf(upstream.state)}>{upstream.state}</Badge>
                  </td>
                  <td title={upstream.since}>{ago(upstream.since)}</td>
                  <td>{upstream.era ?? '–'}</td>
                  <td>
                    {upstream.kind}
                    {upstream.isolation !== 'shared' && `, a connection per ${upstream.isolation}`}
                  </td>
                  <td class="number">{upstream.tools}</td>
                  <td class="number">{upstream.prompts}</td>
                  <td class="number">{upstream.resources + upstream.templates}</td>
                  <td class="number">{said(latency.get(id))}</td>
                  <td class="number">{upstream.reconnects}</td>
                  <td class="number">{upstream.failures}</td>
                  <td class="number">{upstream.findings}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {entries.length === 0 && <p class="quiet">None is configured.</p>}
      </section>
      {findings.total > 0 && <Findings status={status} />}
      <dl class="facts foot">
        <Fact term="Version">{status.version}</Fact>
        <Fact term="Running for">{ago(status.startedAt)}</Fact>
        <Fact term="Sign-in">{status.auth}</Fact>
        <Fact term="Access rules">{status.rules}</Fact>
        <Fact term="Views">{Object.keys(status.views).join(', ') || 'none'}</Fact>
        <Fact term="Catalog revision">{catalog.revision}</Fact>
      </dl>
    </main>
  );
}

function said(ms: number | undefined): string {
  return ms === undefined ? '–' : inMs(ms);
}

function Figure({ term, value }: { readonly term: string; readonly value: number }) {
  return (
    <div class="figure">
      <dt>{term}</dt>
      <dd>{value.toLocaleString()}</dd>
    </div>
  );
}

/** What is wrong with the configuration, and with what replicas share. */
function Problems({ status: { config, state } }: { readonly status: Status }) {
  return (
    <>
      {config.status === 'failed' && (
        <div class="alert">
          <strong>The last configuration is not valid; the one before is in force.</strong>
          <ul>
            {config.problems?.map(({ path, line, message }) => (
              <li key={`${path} ${line} ${message}`}>
                <code>{path}</code> (line {line}): {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      {config.needRestart.length > 0 && (
        <p class="note">Waiting for a restart: {config.needRestart.join(', ')}</p>
      )}
      {state.status === 'down' && <p class="alert">What replicas share cannot be reached.</p>}
    </>
  );
}

function Findings({ status: { findings } }: { readonly status: Status }) {
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">Findings</h2>
      <p class="quiet">
        What is odd in what servers say of themselves.
        {findings.total > findings.items.length &&
          ` The gravest ${findings.items.length} of ${findings.total}.`}
      </p>
      <div class="scroll tall" role="region" aria-labelledby="findings-title" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Severity</th>
              <th scope="col">Upstream</th>
              <th scope="col">Item</th>
              <th scope="col">Finding</th>
            </tr>
          </thead>
          <tbody>
            {findings.items.map((finding, at) => (
              <tr key={at}>
                <td>
                  <Badge tone={toneOf(finding.severity)}>{finding.severity}</Badge>
                </td>
                <td>{finding.upstream}</td>
                <td class="code">
                  <Said text={finding.item || finding.kind} most={200} />
                </td>
                <td>
                  <Said text={finding.reason} most={1_000} /> <code class="quiet">{finding.id}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
