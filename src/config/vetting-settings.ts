import Type from 'typebox';
import { oneOf, section } from './declare.ts';

/** What of calls and results is looked at, and what becomes of what is found. */

export const validate = section(
  { default: {}, description: 'Whether calls and results have to be what its tools publish.' },
  {
    arguments: oneOf(['enforce', 'warn', 'off'], {
      default: 'enforce',
      description:
        'Arguments that do not fit the `inputSchema` of the tool. `enforce`: the call is answered with a result that says what is wrong, and does not reach the server. `warn`: it is passed on, and logged once for each tool.',
    }),
    results: oneOf(['off', 'warn', 'enforce'], {
      default: 'warn',
      description:
        '`structuredContent` that does not fit the `outputSchema` of the tool. `warn`: it is passed on as it is, and logged once for each tool. `enforce`: an error result takes its place.',
    }),
  },
);

const CREDENTIALS = ['off', 'flag', 'mask'] as const;
const ERROR_DETAILS = ['off', 'flag', 'trim'] as const;

export const vetting = section(
  { default: {}, description: 'What results should not hold, and what is done about it.' },
  {
    credentials: oneOf(CREDENTIALS, {
      default: 'flag',
      description:
        'What looks like a credential in a result or an error of a server, by its form (tokens of well-known services, private keys, passwords in database URLs). `flag`: passed on as it is, logged once for each tool, counted; of large results the beginning is looked at. `mask`: `[secret]` takes its place.',
    }),
    errorDetails: oneOf(ERROR_DETAILS, {
      default: 'flag',
      description:
        'Stack traces, absolute paths, SQL and internal hosts in error results and JSON-RPC errors of servers, unless the caller named them itself. `flag`: passed on as it is, logged once for each tool, counted. `trim`: a word in brackets takes their place.',
    }),
  },
);

/** The same for what one upstream answers. */
export const upstreamVetting = section(
  { default: {}, description: 'What its results and errors should not hold, and what is done about it.' },
  {
    credentials: Type.Unsafe<(typeof CREDENTIALS)[number]>({
      type: 'string',
      enum: CREDENTIALS,
      derived: 'that of `vetting.credentials`',
      description: 'What looks like a credential.',
    }),
    errorDetails: Type.Unsafe<(typeof ERROR_DETAILS)[number]>({
      type: 'string',
      enum: ERROR_DETAILS,
      derived: 'that of `vetting.errorDetails`',
      description: 'Stack traces, absolute paths, SQL and internal hosts in its errors.',
    }),
  },
);
