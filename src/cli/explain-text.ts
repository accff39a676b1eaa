import { amountText } from '../config/units.ts';
import type { Explanation, ListExplained, RuleExplained } from '../relay/explanation.ts';
import { oneLine, table } from './text.ts';

type Row = readonly [string, string];

const KIND_WORDS = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'resource template',
} as const;

/** How many findings are told whole. */
const MOST_FINDINGS = 5;

/** For a person at a terminal: the sentence, and below it what it rests on. Texts of servers come out harmless. */
export function explanationText(explanation: Explanation, width: number | undefined): string {
  const { asked, says, nearest } = explanation;
  const who = asked.as === null ? '' : ` for ${asked.as}`;
  const meant = nearest.map((each) => JSON.stringify(each)).join(' or ');
  const lines = [
    oneLine(`${asked.name}${who} at ${asked.endpoint}`),
    oneLine(says),
    ...(nearest.length === 0 ? [] : [oneLine(`Did you mean ${meant}?`)]),
    '',
    ...table(rowsOf(explanation), '  ', width),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function rowsOf(explanation: Explanation): readonly Row[] {
  return [
    ...routeRows(explanation),
    ...upstreamRows(explanation),
    ...accessRows(explanation),
    ...configuredRows(explanation),
    ...listRows(explanation.list),
    ...boundRows(explanation),
    ...findingRows(explanation),
  ];
}

function routeRows({ route, verdict }: Explanation): readonly Row[] {
  if (route === null) {
    return [];
  }
  const { dotted, strict, bare } = route.names;
  const usable = verdict === 'usable' ? ', but it can be used' : '';
  const listed = route.listed ? 'yes' : `no${route.found ? ', found by search_tools' : usable}`;
  return [
    [KIND_WORDS[route.kind], `${route.upstream}: ${route.original}`],
    ['names', `${dotted}${strict === dotted ? '' : `, strict ${strict}`}, at /mcp/${route.upstream} ${bare}`],
    ['listed', listed],
  ];
}

function upstreamRows({ upstream }: Explanation): readonly Row[] {
  if (upstream === null) {
    return [];
  }
  const { id, state, era, since, lastError, optional } = upstream;
  const about = [era ?? '', `since ${since}`, optional ? 'optional' : ''].filter((part) => part !== '');
  const fault: readonly Row[] = lastError === undefined ? [] : [['error', lastError]];
  return [['upstream', `${id} is ${state} (${about.join(', ')})`], ...fault];
}

function accessRows({ access, view, asked }: Explanation): readonly Row[] {
  if (access === null) {
    return [];
  }
  const { rule, rules, needs, lacks, about, allowed } = access;
  const number = rule === null ? '' : `rule ${rule.number}${lineText(rule.line)}`;
  const ruled =
    rules === 0
      ? 'there are none: everybody may use everything'
      : rule === null
        ? allowed
          ? `${rules}, none of them asked: for nobody in particular`
          : `of ${rules} none allows it`
        : `${number} ${allowed ? 'allows' : 'denies'} it`;
  const scopes: readonly Row[] =
    needs.length === 0
      ? []
      : [['scopes', `${needs.join(' ')}${lacks.length === 0 ? '' : `; lacking: ${lacks.join(' ')}`}`]];
  const each = about.map(
    (one): Row => [
      '',
      `rule ${one.number}${lineText(one.line)} ${one.allowed ? 'allows' : 'denies'} it to ${whoText(one.who)}`,
    ],
  );
  const shown = view === null || view.allowed ? 'shows it' : 'does not show it';
  return [['rules', ruled], ...each, ...scopes, ['view', `${asked.endpoint} ${shown}`]];
}

function lineText(line: number | null): string {
  return line === null ? '' : ` (line ${line})`;
}

function whoText({ anyone, groups, ids, scopes }: RuleExplained['who']): string {
  const parts = [
    ...(groups.length === 0 ? [] : [`groups ${groups.join(', ')}`]),
    ...(ids.length === 0 ? [] : [`ids ${ids.join(', ')}`]),
    ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(' ')}`]),
  ];
  return parts.length === 0 ? (anyone ? 'anyone' : 'nobody') : parts.join(' with ');
}

function configuredRows({ configured, hints }: Explanation): readonly Row[] {
  const made =
    configured === null
      ? []
      : [
          ...(configured.allowedBy === null || configured.allowedBy === '*'
            ? []
            : [`tools.allow ${configured.allowedBy}`]),
          ...(configured.renamed === null ? [] : [`renamed to ${configured.renamed}`]),
          ...(configured.described ? ['described'] : []),
          ...(configured.annotated === null ? [] : [`annotated ${JSON.stringify(configured.annotated)}`]),
        ];
  const FROM = {
    configuration: ' (configuration)',
    server: ' (server, trusted)',
    unheard: ' (the word of its server is not trusted)',
    nobody: '',
  } as const;
  const believed = Object.entries(hints ?? {}).map(
    ([name, { value, from }]) => `${name} ${value}${FROM[from]}`,
  );
  return [
    ...(made.length === 0 ? [] : [['config', made.join(', ')] as const]),
    ...(believed.length === 0 ? [] : [['hints', believed.join(', ')] as const]),
  ];
}

const WHOSE = {
  everybody: "everybody's",
  principal: 'of this principal alone',
  shared: "everybody's, read for one of them",
} as const;

function listRows(list: ListExplained | null): readonly Row[] {
  if (list === null) {
    return [];
  }
  const { whose, known, ageMs, everyMs, hints, stale, fault } = list;
  const told =
    hints.ttlMs === undefined
      ? 'no ttl of its server'
      : `ttl ${duration(hints.ttlMs)}${hints.scope === undefined ? '' : ` ${hints.scope}`} of its server`;
  const parts = [
    WHOSE[whose],
    known && ageMs !== null ? `read ${duration(ageMs)} ago` : 'not read yet',
    told,
    whose === 'everybody'
      ? everyMs === null
        ? 'read again when told'
        : `read again every ${duration(everyMs)}`
      : '',
    stale ? 'stale' : '',
    fault ?? '',
  ];
  return [['list', parts.filter((part) => part !== '').join(', ')]];
}

function boundRows({ upstream, route }: Explanation): readonly Row[] {
  if (upstream === null || route === null) {
    return [];
  }
  const { timeouts, limits, retry } = upstream;
  return [
    [
      'bounds',
      `call ${duration(timeouts.call)}, total ${duration(timeouts.total)}, ${limits.concurrency} at once, ${limits.queue} waiting, retry ${retry}`,
    ],
  ];
}

function findingRows({ findings }: Explanation): readonly Row[] {
  const rows = findings
    .slice(0, MOST_FINDINGS)
    .map(({ severity, id, reason }): Row => [severity, `${id}: ${reason}`]);
  const more = findings.length - rows.length;
  return more > 0 ? [...rows, ['', `and ${more} more: --json shows them`]] : rows;
}

/** Exact where it is a setting, in whole seconds where it is longer than ten of them. */
function duration(ms: number): string {
  const rounded = ms >= 10_000 ? Math.round(ms / 1_000) * 1_000 : Math.round(ms);
  return rounded === 0 ? '0' : amountText('duration', rounded);
}
