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

export const vetting = section(
  { default: {}, description: 'What results should not hold, and what is done about it.' },
  {
    credentials: oneOf(['off', 'flag', 'mask'], {
      default: 'flag',
      description:
        'What looks like a credential in a result, by its form (tokens of well-known services, private keys, passwords in database URLs). `flag`: passed on as it is, logged once for each tool, counted; of large results the beginning is looked at. `mask`: `[secret]` takes its place.',
    }),
    errorDetails: oneOf(['off', 'flag', 'trim'], {
      default: 'flag',
      description:
        'Stack traces, absolute paths, SQL and internal hosts in error results, unless the caller named them itself. `flag`: passed on as it is, logged once for each tool, counted. `trim`: a word in brackets takes their place.',
    }),
  },
);
