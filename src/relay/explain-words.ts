import type { Absence, Explanation } from './explanation.ts';

type Told = Omit<Explanation, 'says'>;

/** The verdict and its reason in one sentence, for people. */
export function saysOf(told: Told): string {
  const sentence = verdictOf(told);
  return told.assumed
    ? `${sentence} The list of ${told.route?.upstream} was not read for this principal yet: this goes by what the gateway itself is told.`
    : sentence;
}

function verdictOf(told: Told): string {
  const { verdict, route, upstream, access } = told;
  const who = told.asked.as === null ? '' : ' for this principal';
  switch (verdict) {
    case 'usable':
      return `It goes to ${route?.upstream} as ${quoted(route?.original)}${by(told)}.${route?.found ? ' It is not in the list here: search_tools finds it.' : ''}`;
    case 'scopes':
      return `It is ${route?.found ? 'found by search_tools' : 'listed'}, but a use is refused (403): ${access?.lacks.join(' ')} is lacking${by(told)}.`;
    case 'withheld':
      return 'It is there, but its definition waits for approval (patchbay pin): it is in no list, and a use is refused.';
    case 'unavailable':
      return `It is there, but ${upstream?.id} does not serve now (${upstream?.state}).`;
    default:
      return `${verdict === 'hidden' ? 'It is there, but hidden' : 'It is not there'}${who}: ${whyNot(told)}.`;
  }
}

function by({ access }: Told): string {
  return access === null || access.rule === null
    ? ''
    : `, by rule ${access.rule.number}${line(access.rule.line)}`;
}

function line(at: number | null): string {
  return at === null ? '' : ` (line ${at})`;
}

function whyNot(told: Told): string {
  const { absence, asked, view } = told;
  const { reason, upstream, instead = [], pattern } = absence ?? ({ reason: 'unknown' } satisfies Absence);
  switch (reason) {
    case 'denied':
      return denied(told);
    case 'view':
      return view?.because === 'denied'
        ? `"exclude" of the view at ${asked.endpoint} names it`
        : `"include" of the view at ${asked.endpoint} does not name it`;
    case 'endpoint':
      return `nothing of this may be seen at ${asked.endpoint}`;
    case 'other':
      return `${upstream} lists it for others, and not for this one`;
    case 'elsewhere':
      return `it is called otherwise here, or is at another endpoint: ${instead.join(', ')}`;
    case 'renamed':
      return `the configuration renames it to ${instead.join(', ')}`;
    case 'configuration':
      return pattern === undefined
        ? `no pattern of tools.allow of ${upstream} names it`
        : `tools.deny of ${upstream} names it (${pattern})`;
    case 'gone':
      return `${upstream} had it once${instead.length === 0 ? '' : `, and it is called ${instead.join(', ')} now`}`;
    case 'upstream':
      return unread(told);
    case 'unknown':
      return 'nothing has this name';
  }
}

function denied({ access }: Told): string {
  const rule = access?.rule == null ? undefined : `rule ${access.rule.number}${line(access.rule.line)}`;
  switch (access?.because) {
    case 'denied':
      return `${rule} denies it`;
    case 'reading':
      return `its server may read this URI as ${access.reading}, which ${rule ?? 'no rule'} ${rule === undefined ? 'allows' : 'does not allow likewise'}`;
    case 'too-long':
      return 'it is longer than anything that rules are asked about';
    default:
      return 'no rule allows it, and what no rule allows is denied';
  }
}

function unread(told: Told): string {
  const { upstream, absence } = told;
  const state = upstream?.state ?? 'not there';
  const fault = upstream?.lastError === undefined ? '' : `: ${upstream.lastError}`;
  return `${absence?.upstream}, which would have it, is ${state}, and what it has was not read${told.asked.as === null ? '' : ' for this principal'}${fault}`;
}

function quoted(text: string | undefined): string {
  return JSON.stringify(text ?? '');
}
