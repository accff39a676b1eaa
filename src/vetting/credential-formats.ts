/**
 * What credentials look like that say so themselves: a beginning that nothing else has, a known alphabet, a known length.
 * The facts are those that the issuers document and that detectors such as gitleaks and secretlint go by. Nothing is
 * guessed from how random a text looks: a checksum or an id in a result is no alarm.
 */
export interface CredentialFormat {
  /** What it is, in a word or two, for people. */
  readonly name: string;
  readonly starts: readonly string[];
  /** What follows, as the source of a regular expression without choices that overlap: linear, and bounded. */
  readonly rest: string;
}

const WORD = '[A-Za-z0-9]';
const URL_SAFE = '[A-Za-z0-9_-]';
const HEX = '[0-9a-f]';

export const FORMATS: readonly CredentialFormat[] = [
  { name: 'GitHub token', starts: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], rest: `${WORD}{36,255}` },
  { name: 'GitHub token', starts: ['github_pat_'], rest: '[A-Za-z0-9_]{70,255}' },
  {
    name: 'GitLab token',
    starts: ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glsoat-', 'glcbt-', 'glft-', 'glagent-'],
    rest: '[A-Za-z0-9_.-]{20,300}',
  },
  {
    name: 'Slack token',
    starts: ['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xoxe-'],
    rest: '[A-Za-z0-9-]{20,255}',
  },
  { name: 'Slack token', starts: ['xapp-'], rest: '[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[a-f0-9]{32,128}' },
  { name: 'AWS access key', starts: ['AKIA', 'ASIA', 'ABIA', 'ACCA'], rest: '[A-Z2-7]{16}' },
  { name: 'Google API key', starts: ['AIza'], rest: `${URL_SAFE}{35}` },
  { name: 'Google OAuth secret', starts: ['GOCSPX-'], rest: `${URL_SAFE}{28}` },
  { name: 'Google OAuth token', starts: ['ya29.'], rest: `${URL_SAFE}{30,2048}` },
  { name: 'Anthropic key', starts: ['sk-ant-'], rest: `[a-z0-9]{3,12}-${URL_SAFE}{60,255}` },
  { name: 'OpenAI key', starts: ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], rest: `${URL_SAFE}{40,255}` },
  { name: 'OpenAI key', starts: ['sk-'], rest: `${WORD}{20}T3BlbkFJ${WORD}{20}` },
  { name: 'Stripe key', starts: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'], rest: `${WORD}{16,255}` },
  { name: 'Stripe webhook secret', starts: ['whsec_'], rest: `${WORD}{32,255}` },
  { name: 'npm token', starts: ['npm_'], rest: `${WORD}{36}` },
  { name: 'PyPI token', starts: ['pypi-AgEIcHlwaS5vcmc'], rest: `${URL_SAFE}{50,1000}` },
  { name: 'Hugging Face token', starts: ['hf_'], rest: '[A-Za-z]{34}' },
  { name: 'SendGrid key', starts: ['SG.'], rest: `${URL_SAFE}{22}\\.${URL_SAFE}{43}` },
  { name: 'DigitalOcean token', starts: ['dop_v1_', 'doo_v1_', 'dor_v1_'], rest: `${HEX}{64}` },
  { name: 'Shopify token', starts: ['shpat_', 'shpca_', 'shppa_', 'shpss_'], rest: '[A-Fa-f0-9]{32}' },
  { name: 'Databricks token', starts: ['dapi'], rest: `${HEX}{32}` },
  { name: 'Vault token', starts: ['hvs.', 'hvb.'], rest: `${URL_SAFE}{90,300}` },
  { name: 'Linear key', starts: ['lin_api_'], rest: `${WORD}{40}` },
  { name: 'Notion token', starts: ['ntn_'], rest: `[0-9]{11}${WORD}{35}` },
  { name: 'Atlassian token', starts: ['ATATT3'], rest: `${URL_SAFE}{180,240}` },
  { name: 'Grafana token', starts: ['glsa_'], rest: `${WORD}{32}_[A-Fa-f0-9]{8}` },
  { name: 'Figma token', starts: ['figd_'], rest: `${URL_SAFE}{40}` },
  { name: 'Postman key', starts: ['PMAK-'], rest: `${HEX}{24}-${HEX}{34}` },
  { name: 'Doppler token', starts: ['dp.pt.'], rest: `${WORD}{43}` },
  { name: 'Supabase token', starts: ['sbp_'], rest: `${HEX}{40}` },
  { name: 'Groq key', starts: ['gsk_'], rest: `${WORD}{52}` },
  { name: 'Replicate token', starts: ['r8_'], rest: `${WORD}{37}` },
  { name: 'Perplexity key', starts: ['pplx-'], rest: `${WORD}{48}` },
  { name: 'xAI key', starts: ['xai-'], rest: `${WORD}{80}` },
  { name: 'age key', starts: ['AGE-SECRET-KEY-1'], rest: '[AC-HJ-NP-Z02-9]{58}' },
  {
    name: 'JSON Web Token',
    starts: ['eyJ'],
    rest: `${URL_SAFE}{10,4096}\\.eyJ${URL_SAFE}{10,8192}\\.${URL_SAFE}{20,1024}`,
  },
];

/** Database URLs carry their password in the middle: it is what the first group matches. */
export const CONNECTION =
  /^(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|sqlserver):\/\/[^\s:/@]{0,64}:([^\s:/@]{4,128})@/;

/** Passwords that are only there to show where one goes. */
export const SHOWN = /^(?:pass|passwd|password|secret|pwd|changeme|example|your.*|[<[{$*%].*|x+)$/i;
