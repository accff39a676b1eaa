import Type from 'typebox';
import { list, mapping, NOT_EMPTY, section, text, truth } from './declare.ts';

/** Which tools of an upstream exist for clients, and how they are told. */

const ANY_NAME = '^[^\\u0000]+$';
const NAME_PATTERN = {
  pattern: '^[^\\s\\u0000]+$',
  patternErrorMessage: 'must be the name of a tool, with * for any text and ? for one sign',
};

export const tools = section(
  {
    default: {},
    description: 'Which of its tools are there at all, and how they are told. Names are those of the server.',
  },
  {
    allow: list(
      { default: ['*'], description: 'Tools that exist for clients; `*` and `?` as in rules.' },
      NAME_PATTERN,
    ),
    deny: list({ description: 'Tools that do not, in the same patterns.' }, NAME_PATTERN),
    rename: mapping(
      {
        keys: ANY_NAME,
        default: {},
        description: 'Other names for single tools: original to new. Rules go on naming the original.',
      },
      text({
        pattern: '^[A-Za-z0-9_.-]{1,128}$',
        patternErrorMessage: 'must be 1 to 128 of A-Z, a-z, 0-9, "_", "-" and "."',
      }),
    ),
    describe: mapping(
      { keys: ANY_NAME, default: {}, description: 'Other descriptions for single tools.' },
      text(NOT_EMPTY),
    ),
    annotate: mapping(
      {
        keys: ANY_NAME,
        default: {},
        description:
          'Annotations for single tools, in the place of those of the server. They count in rules.',
      },
      section(
        {},
        {
          title: Type.Optional(text({ ...NOT_EMPTY, description: 'Title for people.' })),
          readOnly: Type.Optional(truth('`readOnlyHint`.')),
          destructive: Type.Optional(truth('`destructiveHint`.')),
          idempotent: Type.Optional(truth('`idempotentHint`.')),
          openWorld: Type.Optional(truth('`openWorldHint`.')),
        },
      ),
    ),
  },
);
