import Type from 'typebox';
import {
  choices,
  duration,
  flag,
  HTTP_URL,
  hint,
  list,
  mapping,
  NOT_EMPTY,
  oneOf,
  section,
  sections,
  text,
  whole,
} from './declare.ts';
import { ID_PATTERN, ID_RULE } from './upstream-settings.ts';

/** The sections about who may use what: sign-in, rules, views. */

/** Signature algorithms with a public key; shared secrets and `none` are never accepted (RFC 8725, 3.1 and 3.2). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const SCOPE = {
  pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
  patternErrorMessage: 'must be a scope: no blanks, quotes or backslashes (RFC 6749, 3.3)',
};
const groupsOfKey = list({ description: 'Groups of whoever uses this key.' }, NOT_EMPTY);
const scopesOfKey = list({ description: 'Scopes of whoever uses this key.' }, SCOPE);

export const auth = section(
  { default: {}, description: 'Who may use the gateway.' },
  {
    mode: oneOf(['none', 'keys', 'jwt'], {
      default: 'none',
      description:
        '`none`: everybody who reaches the gateway may use it. `keys`: whoever sends one of `keys`. `jwt`: whoever sends an access token of the authorization server in `jwt`.',
    }),
    allowAnonymous: flag(
      false,
      'Needed to use `mode: none` on an address that is not loopback: whoever reaches that address can call every tool behind it.',
    ),
    keys: sections(
      {
        description:
          'Keys of `mode: keys`, sent as `Authorization: Bearer …` or `X-API-Key`. `patchbay keys new ID` makes one.',
      },
      section(
        {},
        {
          id: text({ ...NOT_EMPTY, description: 'Who uses the key: the id that rules and logs name.' }),
          sha256: text({
            pattern: '^[0-9a-fA-F]{64}$',
            patternErrorMessage: 'must be the SHA-256 of the key in hex (64 digits)',
            description: 'SHA-256 of the key, in hex. The key itself stands nowhere.',
          }),
          groups: groupsOfKey,
          scopes: scopesOfKey,
        },
      ),
    ),
    jwt: Type.Optional(
      section(
        { description: 'Access tokens of `mode: jwt`.' },
        {
          issuer: text({
            ...HTTP_URL,
            description:
              'The authorization server, exactly as its tokens name it (`iss`). Clients are sent to it, and its keys are found through its metadata.',
          }),
          audience: list(
            {
              description:
                'Accepted values of `aud`. Without any, the URL of this gateway as clients see it: `/mcp`, and for `/mcp/<name>` that URL too.',
            },
            NOT_EMPTY,
          ),
          jwksUri: Type.Optional(
            text({
              ...HTTP_URL,
              description: 'Where its public keys are, if its metadata shall not be asked.',
            }),
          ),
          algorithms: choices(ALGORITHMS, {
            default: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'],
            description: 'Signature algorithms that are accepted.',
          }),
          clockTolerance: duration('30s', 'How far the clocks of the two machines may differ.'),
          scopes: list(
            {
              description:
                'Scopes that every request needs. They are named to clients that come without a token, and in the metadata.',
            },
            SCOPE,
          ),
          claims: section(
            { default: {}, description: 'Where in a token to look. A dot leads into an object.' },
            {
              id: text({ ...NOT_EMPTY, default: 'sub', description: 'Id of the user.' }),
              groups: text({ ...NOT_EMPTY, default: 'groups', description: 'Groups: a list, or a text.' }),
              scopes: text({
                ...NOT_EMPTY,
                default: 'scope',
                description: 'Scopes: a text with blanks between, or a list.',
              }),
            },
          ),
        },
      ),
    ),
  },
);

const PATTERN = {
  pattern: '^((tool|prompt|resource):)?[a-z0-9_?*-]*[.*][^\\s\\u0000]*$',
  patternErrorMessage:
    'must be a pattern such as github.*, tool:github.create_issue or resource:files.file:///data/*',
};

const PATTERNS_ARE =
  'A pattern is `<upstream id>.<original name>` with `*` for any text and `?` for one sign; `tool:`, `prompt:` or `resource:` before it narrows it to that kind (a resource is named by its URI).';

export const access = sections(
  {
    description:
      'Rules, the first that matches wins. Without any rule everybody may use everything; as soon as there is one, what no rule allows is denied. What may not be used is not listed either.',
  },
  section(
    {},
    {
      who: section(
        { default: {}, description: 'For whom the rule is: each key that is given has to hold.' },
        {
          groups: list({ description: 'Who is in one of these groups.' }, NOT_EMPTY),
          scopes: list({ description: 'Who has all of these scopes.' }, SCOPE),
          ids: list({ description: 'Who has one of these ids.' }, NOT_EMPTY),
          anyone: flag(false, '`true`: everybody.'),
        },
      ),
      allow: list({ description: `What they may use. ${PATTERNS_ARE}` }, PATTERN),
      deny: list(
        { description: 'What they may not use, in the same patterns. Read before `allow`.' },
        PATTERN,
      ),
      where: Type.Optional(
        section(
          {
            description:
              'Only tools whose hints are so. Hints of an upstream count only with `trust.annotations`, or where `tools.annotate` gives them; else they are `missing`.',
          },
          {
            readOnly: Type.Optional(hint('`readOnlyHint`: changes nothing.')),
            destructive: Type.Optional(hint('`destructiveHint`: may delete or overwrite.')),
            openWorld: Type.Optional(hint('`openWorldHint`: reaches beyond its own domain.')),
          },
        ),
      ),
      scopes: list(
        {
          description:
            'Scopes that a use of what this rule allows needs besides. Whoever lacks one still sees it listed, and is told on use which to ask for (403 `insufficient_scope`).',
        },
        SCOPE,
      ),
    },
  ),
);

export const operators = section(
  { default: {}, description: 'Who may see the state of the gateway, where `auth.mode` is not `none`.' },
  {
    groups: list(
      { description: 'Groups that see what `/readyz` says of each upstream, and may ask `/api`.' },
      NOT_EMPTY,
    ),
  },
);

export const views = mapping(
  {
    keys: ID_PATTERN,
    patternErrorMessage: ID_RULE,
    default: {},
    description:
      'Selections of the catalog, each at `/mcp/<name>`; `default` is what `/mcp` serves. A view and an upstream cannot have one name. Rules hold in every view.',
  },
  section(
    {},
    {
      include: list({ default: ['*'], description: `What it shows. ${PATTERNS_ARE}` }, PATTERN),
      exclude: list({ description: 'What it does not show, in the same patterns.' }, PATTERN),
      naming: Type.Unsafe<'dotted' | 'strict'>({
        type: 'string',
        enum: ['dotted', 'strict'],
        derived: 'that of `naming.style`',
        description: 'Style of names there. `?names=` outranks it.',
      }),
      instructions: Type.Optional(
        text({ description: 'Text for the model, in the place of the one at the top.' }),
      ),
      upstreamInstructions: flag(true, 'Whether instructions of the upstreams are added.'),
      mode: oneOf(['list', 'search', 'progressive'], {
        default: 'list',
        description:
          '`list`: every tool is listed. `search`: `search_tools`, `describe_tools`, `call_tool` and the pinned ones; whatever the view shows is found by them, and can be called by its name. `progressive`: that, and the tools that a principal has found or named lately (docs/search.md).',
      }),
      pinned: list(
        {
          description:
            'Tools that are listed whatever the mode, before the others, in the same patterns; only what the view shows.',
        },
        PATTERN,
      ),
      maxTokens: whole({
        minimum: 0,
        default: 0,
        description:
          'Most tokens that a list of tools takes there (0: no bound), counted as `check --tokens` does. What does not fit is left out of the list and found by `search_tools`.',
      }),
      found: section(
        { default: {}, description: 'Of `mode: progressive`: what joins the list of a principal.' },
        {
          keep: duration('1h', 'How long a tool stays that is not found or named again.', 1_000),
          most: whole({ minimum: 1, maximum: 200, default: 32, description: 'How many at most.' }),
        },
      ),
    },
  ),
);
