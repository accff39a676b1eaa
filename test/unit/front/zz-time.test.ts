import { it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { connectSdk } from '/work/main/test/kit/sdk-clients.ts';
import { everythingStdio } from '/work/main/test/kit/real-servers.ts';
it('x', async () => {
  const { command, args } = everythingStdio();
  writeFileSync('/tmp/t/g.yaml', JSON.stringify({ sealingKey: Buffer.alloc(32,7).toString('base64'), upstreams: { every: { command, args } } }));
  for (const label of ['v1','v2-auto','v2-modern'] as const) {
  let t = Date.now(); const lap = (n: string) => { console.log(label, n, Date.now() - t); t = Date.now(); };
  const sdk = await connectSdk(label, { command: process.execPath, args: ['/work/main/src/main.ts','stdio','-c','/tmp/t/g.yaml'], env: { PATH: process.env.PATH! } });
  lap('connect');
  await sdk.listTools(); lap('tools');
  await sdk.callTool('every.echo', { message: 'hi' }); lap('call');
  await sdk.listen(); lap('listen');
  await sdk.close(); lap('close');
  }
}, 120000);
