import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runClient } from './suite.ts';

const CLIENT = fileURLToPath(new URL('client.ts', import.meta.url));

it.each([
  ['auth/client-credentials-basic', 'client-credentials-basic-auth'],
  ['auth/client-credentials-jwt', 'client-credentials-jwt-verified'],
])('%s: the gateway signs in to a server as the suite asks for', async (scenario, decisive) => {
  const command = [process.execPath, CLIENT, 'through', 'modern'].join(' ');
  const report = await runClient(command, scenario);
  const checks = [...report.values()].flat();
  expect(checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')).toEqual([]);
  expect(checks).toContainEqual(expect.objectContaining({ id: decisive, status: 'SUCCESS' }));
});
