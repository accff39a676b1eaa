import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../../src/vetting/credential-formats.ts';
import * as found from '../../../src/vetting/credentials-found.ts';

const credentialsIn = (text: string) => found.credentialsIn(found.encoded(text));
const maskedCredentials = (text: string) => {
  const bytes = Buffer.from(text);
  return found.maskedCredentials(bytes, found.credentialsIn(bytes));
};

/** Signs without an order that anybody would take for real, as many as wanted. */
const signs = (alphabet: string, count: number) =>
  Array.from({ length: count }, (_, at) => alphabet[(at * 7 + Math.floor(at / 5)) % alphabet.length]).join(
    '',
  );
const ALNUM = 'abcDEF012ghiJKL345mnoPQR678stuVWX9yz';
const UPPER = 'ABCDEFGHJKLMNPQRSTUVWXYZ234567';
const HEX = '0123456789abcdef';

/** One of each, put together here so that no file of ours holds one. */
const SAMPLES: readonly (readonly [name: string, token: string])[] = [
  ['GitHub token', `ghp_${signs(ALNUM, 36)}`],
  ['GitHub token', `github_pat_${signs(ALNUM, 22)}_${signs(ALNUM, 59)}`],
  ['GitLab token', `glpat-${signs(ALNUM, 20)}`],
  ['Slack token', `xoxb-${signs('0123456789', 12)}-${signs('0123456789', 12)}-${signs(ALNUM, 24)}`],
  ['Slack token', `xapp-1-${signs(UPPER, 11)}-${signs('0123456789', 13)}-${signs(HEX, 64)}`],
  ['AWS access key', `AKIA${signs(UPPER, 16)}`],
  ['Google API key', `AIza${signs(ALNUM, 35)}`],
  ['Google OAuth secret', `GOCSPX-${signs(ALNUM, 28)}`],
  ['Google OAuth token', `ya29.${signs(ALNUM, 60)}`],
  ['Anthropic key', `sk-ant-api03-${signs(ALNUM, 93)}AA`],
  ['OpenAI key', `sk-proj-${signs(ALNUM, 74)}`],
  ['OpenAI key', `sk-${signs(ALNUM, 20)}T3BlbkFJ${signs(ALNUM, 20)}`],
  ['Stripe key', `sk_live_${signs(ALNUM, 24)}`],
  ['Stripe webhook secret', `whsec_${signs(ALNUM, 32)}`],
  ['npm token', `npm_${signs(ALNUM, 36)}`],
  ['PyPI token', `pypi-AgEIcHlwaS5vcmc${signs(ALNUM, 70)}`],
  ['Hugging Face token', `hf_${signs('abcdefghijKLMNOPQRstuv', 34)}`],
  ['SendGrid key', `SG.${signs(ALNUM, 22)}.${signs(ALNUM, 43)}`],
  ['DigitalOcean token', `dop_v1_${signs(HEX, 64)}`],
  ['Shopify token', `shpat_${signs(HEX, 32)}`],
  ['Databricks token', `dapi${signs(HEX, 32)}`],
  ['Vault token', `hvs.${signs(ALNUM, 95)}`],
  ['Linear key', `lin_api_${signs(ALNUM, 40)}`],
  ['Notion token', `ntn_${signs('0123456789', 11)}${signs(ALNUM, 35)}`],
  ['Atlassian token', `ATATT3${signs(ALNUM, 186)}`],
  ['Grafana token', `glsa_${signs(ALNUM, 32)}_${signs(HEX, 8)}`],
  ['Figma token', `figd_${signs(ALNUM, 40)}`],
  ['Postman key', `PMAK-${signs(HEX, 24)}-${signs(HEX, 34)}`],
  ['Doppler token', `dp.pt.${signs(ALNUM, 43)}`],
  ['Supabase token', `sbp_${signs(HEX, 40)}`],
  ['Groq key', `gsk_${signs(ALNUM, 52)}`],
  ['Replicate token', `r8_${signs(ALNUM, 37)}`],
  ['Perplexity key', `pplx-${signs(ALNUM, 48)}`],
  ['xAI key', `xai-${signs(ALNUM, 80)}`],
  ['age key', `AGE-SECRET-KEY-1${signs('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`],
  ['JSON Web Token', `eyJ${signs(ALNUM, 30)}.eyJ${signs(ALNUM, 80)}.${signs(ALNUM, 43)}`],
];

describe('each format', () => {
  it('has a sample here', () => {
    expect(new Set(SAMPLES.map(([name]) => name))).toEqual(new Set(FORMATS.map(({ name }) => name)));
  });

  it.each(SAMPLES)('%s', (name, token) => {
    for (const text of [
      token,
      `clé ${token} 🔑 été`,
      `é${token}ü`,
      `Authorization: Bearer ${token}`,
      `export KEY="${token}"\n`,
      `{"token":"${token}","n":1}`,
      `a line\\n${token}\\nanother`,
      `${'x '.repeat(999)}?key=${token}&b=1`,
    ]) {
      const seen = credentialsIn(text);
      expect(seen.map((each) => each.name)).toEqual([name]);
      expect(maskedCredentials(text)).toBe(text.replace(token, '[secret]'));
    }
  });
});

describe('what is in several lines, or in the middle of a URL', () => {
  const body = Array.from({ length: 12 }, (_, at) => signs(`${ALNUM}+/`, 64 - (at % 2))).join('\n');
  it.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])('a %sprivate key', (kind) => {
    const key = `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----`;
    expect(credentialsIn(`Here:\n${key}\nDone.`).map(({ name }) => name)).toEqual(['private key']);
    expect(maskedCredentials(`Here:\n${key}\nDone.`)).toBe(
      `Here:\n[secret]-----END ${kind}PRIVATE KEY-----\nDone.`,
    );
    // One that was cut, and one in JSON.
    expect(maskedCredentials(key.slice(0, 300))).toBe('[secret]');
    expect(credentialsIn(JSON.stringify({ key }))).toHaveLength(1);
  });

  it.each([
    ['postgres://app:Zx81kQm2@db.example.com/app', 'postgres://app:[secret]@db.example.com/app'],
    ['mongodb+srv://u:p4ssw0rd9@c.example.net', 'mongodb+srv://u:[secret]@c.example.net'],
    ['rediss://:a8f3kk29@cache:6379/0', 'rediss://:[secret]@cache:6379/0'],
    ['amqp://grün:à la çarte'.replaceAll(' ', '-') + '@h', 'amqp://grün:[secret]@h'],
    ['mysql://root:password@localhost/db', 'mysql://root:password@localhost/db'],
    ['postgres://user:<password>@host/db', 'postgres://user:<password>@host/db'],
    ['postgres://user@host/db', 'postgres://user@host/db'],
  ])('%s', (text, expected) => {
    expect(maskedCredentials(`url: ${text} (main)`)).toBe(`url: ${expected} (main)`);
  });
});

/** What results hold that is no credential: an alarm for one of these is worse than none. */
const HARMLESS: readonly string[] = [
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  '550e8400-e29b-41d4-a716-446655440000',
  'commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  `sha512-${signs(`${ALNUM}+/`, 86)}==`,
  `data:image/png;base64,${signs(`${ALNUM}+/`, 4_000)}`,
  'https://example.com/a/very/long/path/with-many-words-and_underscores.and.dots/index.html',
  'com.example.some.very.long.package.name.SomeClassWithALongName.methodName',
  'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  'Set GITHUB_TOKEN to a token that begins with ghp_ or github_pat_.',
  'AKIAIOSFODNN7EXAMPLE',
  'sk-learn-contrib-is-a-package-with-a-long-name-in-python',
  'skeleton_live_sk_live_documentation_of_the_stripe_api',
  'npm_config_user_agent_is_the_name_of_a_variable',
  '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----',
  'A PEM file begins with -----BEGIN PRIVATE KEY----- and a line break.',
  'eyJhbGciOiJIUzI1NiJ9 is the header of most tokens',
  'hf_hub_download and hf_transfer_are_functions_of_a_library',
  'dapiVersion and dapi_server_started_listening_on_port',
  'ASIA_PACIFIC_REGION_CODE_LIST_OF_ALL',
  `request id ${signs(ALNUM, 64)}`,
];

it.each(HARMLESS)('no credential: %s', (text) => {
  expect(credentialsIn(text)).toEqual([]);
  expect(maskedCredentials(text)).toBe(text);
});

it('finds all of several, wherever they stand in a large text', () => {
  const token = `ghp_${signs(ALNUM, 36)}`;
  for (let shift = 0; shift < 45; shift += 1) {
    const text = `${'.'.repeat(shift)} ${token} ${'plain words '.repeat(50)}${token}`;
    expect(credentialsIn(text)).toHaveLength(2);
  }
});

it('takes time by the length of a text', () => {
  for (const text of [
    'ghp_'.repeat(250_000),
    'eyJ'.repeat(300_000),
    '://'.repeat(300_000),
    'PRIVATE KEY'.repeat(90_000),
    '-'.repeat(1e6),
  ]) {
    const began = process.cpuUsage().user;
    expect(credentialsIn(text).length).toBeLessThan(2);
    expect(process.cpuUsage().user - began).toBeLessThan(2e6);
  }
});
