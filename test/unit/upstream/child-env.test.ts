import { describe, expect, it } from 'vitest';
import { childEnvironment, variable } from '../../../src/upstream/child-env.ts';

const own = {
  PATH: '/bin',
  HOME: '/home/x',
  USER: 'x',
  LOGNAME: 'x',
  SHELL: '/bin/sh',
  TERM: 'xterm',
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  LC_TIME: 'de_DE',
  TMPDIR: '/tmp',
  TZ: 'UTC',
  HTTPS_PROXY: 'p',
  https_proxy: 'p2',
  NODE_EXTRA_CA_CERTS: 'c',
  SSL_CERT_FILE: 'f',
  GW_SECRET: 'x',
  AWS_SECRET_ACCESS_KEY: 'y',
  NODE_OPTIONS: '--inspect',
  PATCHBAY_SEALING_KEY: 'k',
  SystemRoot: 'C:\\Windows',
};

describe('environment of a child', () => {
  it('C-037: passes what programs need, never the secrets of the gateway', () => {
    const { GW_SECRET, AWS_SECRET_ACCESS_KEY, NODE_OPTIONS, PATCHBAY_SEALING_KEY, SystemRoot, ...harmless } =
      own;
    expect(childEnvironment(own, { env: {}, passEnv: [] }, 'linux')).toEqual(harmless);
  });

  it('C-037: adds what the configuration names, and its own values last', () => {
    const env = childEnvironment(
      own,
      { env: { A: '1', LANG: 'fr', EMPTY: '' }, passEnv: ['GW_SECRET', 'UNSET'] },
      'linux',
    );
    expect(env).toMatchObject({ A: '1', LANG: 'fr', EMPTY: '', GW_SECRET: 'x', PATH: '/bin' });
    expect(env).not.toHaveProperty('UNSET');
    expect(env).not.toHaveProperty('AWS_SECRET_ACCESS_KEY');
  });

  it('C-037: on Windows names have no case, and its own variables pass', () => {
    const windows = {
      Path: 'C:\\bin',
      SystemRoot: 'C:\\Windows',
      ProgramFiles: 'C:\\Program Files',
      APPDATA: 'a',
      Gw_Secret: 'x',
    };
    const env = childEnvironment(windows, { env: { PATH: 'D:\\bin' }, passEnv: [] }, 'win32');
    expect(env).toEqual({
      PATH: 'D:\\bin',
      SystemRoot: 'C:\\Windows',
      ProgramFiles: 'C:\\Program Files',
      APPDATA: 'a',
    });
    expect(variable(windows, 'PATH', 'win32')).toBe('C:\\bin');
    expect(variable(windows, 'PATH', 'linux')).toBeUndefined();
  });

  it('passes no exported shell function, which is code', () => {
    expect(childEnvironment({ TERM: '() { evil; }' }, { env: {}, passEnv: [] }, 'linux')).toEqual({});
  });
});
