import Type from 'typebox';
import { HTTP_URL, NOT_EMPTY, oneOf, SOME_HEADER_VALUE, section, text } from './declare.ts';

/** What the gateway signs in with at an upstream. */

export const HEADER_NAME = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

export const credentials = section(
  {
    default: {},
    description:
      'What the gateway signs in with. The token of a client is never sent to an upstream. Which keys are needed depends on `type`.',
  },
  {
    type: oneOf(['none', 'bearer', 'clientCredentials', 'tokenExchange', 'userHeader'], {
      default: 'none',
      description:
        '`bearer`: `token`. `clientCredentials`: a token of the gateway itself (OAuth 2.1). `tokenExchange`: a token for the calling user, in exchange for the one the user came with (RFC 8693; needs `auth.mode: jwt`). `userHeader`: a header that names the calling user.',
    }),
    token: Type.Optional(text({ ...SOME_HEADER_VALUE, description: 'For `bearer`.' })),
    tokenUrl: Type.Optional(
      text({ ...HTTP_URL, description: 'Token endpoint of the authorization server; or give `issuer`.' }),
    ),
    issuer: Type.Optional(
      text({
        ...HTTP_URL,
        description: 'Authorization server, whose metadata names the token endpoint.',
      }),
    ),
    clientId: Type.Optional(text({ ...NOT_EMPTY, description: 'Client id of the gateway there.' })),
    clientSecret: Type.Optional(text({ ...NOT_EMPTY, description: 'Client secret of the gateway there.' })),
    clientKey: Type.Optional(
      text({
        ...NOT_EMPTY,
        description:
          'In place of `clientSecret`: a private key of the gateway (PEM or JWK; RSA, EC or Ed25519), best from a file. The gateway signs in with assertions that are signed with it (RFC 7523, `private_key_jwt`).',
      }),
    ),
    clientKeyId: Type.Optional(
      text({
        ...NOT_EMPTY,
        description: 'What `clientKey` is called there (`kid`). Default: what a JWK calls itself.',
      }),
    ),
    scope: Type.Optional(text({ ...NOT_EMPTY, description: 'Scopes to ask for, with blanks between.' })),
    resource: Type.Optional(
      text({
        ...HTTP_URL,
        description: 'Resource that the token is for (RFC 8707). Default: the URL of the upstream.',
      }),
    ),
    audience: Type.Optional(
      text({ ...NOT_EMPTY, description: 'For `tokenExchange`: logical name of the upstream.' }),
    ),
    name: Type.Optional(
      text({
        pattern: HEADER_NAME,
        patternErrorMessage: 'must be the name of a header',
        description: 'For `userHeader`: name of the header.',
      }),
    ),
    value: Type.Optional(
      text({
        ...SOME_HEADER_VALUE,
        perUser: true,
        description: [
          'For `userHeader`: its value, with',
          ['id', 'issuer', 'groups', 'scopes'].map((key) => `\`\${principal.${key}}\``).join(', '),
          'filled in. Default: the id.',
        ].join(' '),
      }),
    ),
  },
);
