import Type from 'typebox';
import { list, NOT_EMPTY, oneOf, section, text } from './declare.ts';

/** The sections about what outlives a process, and what several of them share. */

export const SEALING_KEY = {
  pattern: '^[A-Za-z0-9+/_-]{43}=?$',
  patternErrorMessage: 'must be 32 bytes in base64 (make one with: openssl rand -base64 32)',
};

export const oldSealingKeys = list(
  {
    restart: true,
    description:
      'Keys that `sealingKey` had before, the newest first: what they sealed is still opened, and nothing is sealed with them. To change the key: add the next one here on all replicas, then swap the two, and take the old one out when `sessions.maxAge` is over.',
  },
  { ...SEALING_KEY },
);

export const state = section(
  { default: {}, description: 'What the replicas of a gateway share.' },
  {
    type: oneOf(['memory', 'redis'], {
      default: 'memory',
      restart: true,
      description:
        '`memory`: this process is alone. `redis`: in a Redis server from 6.2 on, or Valkey; needs `url`, and a `sealingKey` that is the same on all replicas.',
    }),
    url: Type.Optional(
      text({
        pattern: '^rediss?://[^/\\s]',
        patternErrorMessage: 'must be a URL that begins with redis:// or rediss://',
        restart: true,
        description: '`redis://host:6379`, or `rediss://…` for TLS; with `/1` at its end for the database 1.',
      }),
    ),
    username: Type.Optional(
      text({
        ...NOT_EMPTY,
        restart: true,
        description: 'User of the server, where it is not its default one.',
      }),
    ),
    password: Type.Optional(
      text({
        ...NOT_EMPTY,
        restart: true,
        description: 'Its password: from a variable or a file, never as it is.',
      }),
    ),
    prefix: text({
      pattern: '^[A-Za-z0-9._:-]{1,64}$',
      patternErrorMessage: 'must be 1 to 64 of "A-Z a-z 0-9 . _ : -"',
      default: 'patchbay',
      restart: true,
      description:
        'What the names of all its keys and channels begin with: gateways that share a server need different ones.',
    }),
  },
);
