import { createHash } from 'node:crypto';
import { refusingPort } from '../kit/faults.ts';
import { type GatewayProcess, startGatewayProcess } from '../kit/gateway-process.ts';
import { type ScriptedHttp, startHttpUpstream } from '../kit/http-upstream.ts';

export const KEY = 'pbk_operator-of-the-page';
export const USER_KEY = 'pbk_somebody-else';

/** What a hostile server puts wherever it can put a text. It tries markup, script, and links that are script. */
export const ATTACK = [
  '<img src=x id=owned onerror="window.owned=1">',
  '</pre></script><script id=owned>window.owned=1</script>',
  '<svg id=owned onload="window.owned=1">',
  '" onmouseover="window.owned=1" id="owned',
  '<a id=owned href="javascript:window.owned=1">open</a>',
].join(' ');
/** Turns the text after it around, hides a sign, and gives a terminal an order. */
const HIDDEN = 'safe\u202Egnp.exe\u200B\u001B[31m';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const CREATE = {
  type: 'object',
  properties: {
    title: { type: 'string', description: 'What it is about' },
    priority: { enum: ['low', 'high'] },
    count: { type: 'integer', minimum: 1 },
    urgent: { type: 'boolean' },
    owner: { $ref: '#/$defs/person' },
    labels: { type: 'array', items: { type: 'string' } },
    extra: { type: ['string', 'number'], description: 'Anything' },
  },
  required: ['title', 'count'],
  $defs: { person: { type: 'object', properties: { name: { type: 'string', title: 'Full name' } } } },
};

const attack = (more: object) => ({
  type: 'object',
  title: ATTACK,
  properties: {
    [ATTACK]: { type: 'string', title: ATTACK, description: `${ATTACK} ${HIDDEN}` },
    choice: { enum: [ATTACK, HIDDEN], title: ATTACK },
    inner: { type: 'object', title: ATTACK, properties: { [ATTACK]: { type: 'string', default: ATTACK } } },
    ...more,
  },
});

export interface World extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly tickets: ScriptedHttp;
}

/** A gateway that asks for a key, in front of a good server, a hostile one, and one that is down. */
export async function openWorld(): Promise<World> {
  const stack = new AsyncDisposableStack();
  const tickets = stack.use(
    await startHttpUpstream({
      id: 'tickets',
      tools: [
        {
          name: 'create',
          title: 'Create a ticket',
          description: 'Files a ticket in the tracker of the team.\nIt is open from then on.',
          inputSchema: CREATE,
          outputSchema: { type: 'object' },
          annotations: { readOnlyHint: false, destructiveHint: true },
        },
        'slow',
        'ask',
        { name: 'progress', description: 'Tells how far it is', inputSchema: { type: 'object' } },
      ],
      prompts: ['triage'],
      resources: ['ticket://one'],
      calls: { progress: { does: 'progress', steps: 3, message: 'halfway there' } },
    }),
  );
  const content = [
    { type: 'text', text: `${ATTACK} ${HIDDEN}` },
    { type: 'resource_link', uri: 'javascript:window.owned=1', name: ATTACK },
    {
      type: 'image',
      mimeType: 'image/svg+xml',
      data: Buffer.from('<svg onload="owned=1"/>').toString('base64'),
    },
    { type: 'image', mimeType: 'image/png', data: '" onerror="window.owned=1' },
    { type: 'resource', resource: { uri: 'x:y', mimeType: 'text/html', text: ATTACK } },
  ];
  const hostile = stack.use(
    await startHttpUpstream({
      id: 'hostile',
      instructions: ATTACK,
      serverInfo: { name: ATTACK, version: ATTACK },
      tools: [
        { name: ATTACK.slice(0, 60), title: ATTACK, description: ATTACK, inputSchema: attack({}) },
        {
          name: 'charm',
          title: `${ATTACK} ${HIDDEN}`,
          description: `${ATTACK} ${HIDDEN}`,
          inputSchema: attack({}),
          outputSchema: attack({}),
        },
      ],
      prompts: [
        {
          name: 'lure',
          title: ATTACK,
          description: ATTACK,
          arguments: [{ name: ATTACK, description: ATTACK }],
        },
      ],
      resources: [
        { uri: 'javascript:window.owned=1', name: ATTACK, description: ATTACK, mimeType: 'text/html' },
      ],
      calls: { charm: { does: 'raw', result: { content, structuredContent: { [ATTACK]: ATTACK } } } },
    }),
  );
  const gateway = stack.use(
    await startGatewayProcess({
      auth: {
        mode: 'keys',
        keys: [
          { id: 'ann', sha256: sha256(KEY), groups: ['ops'] },
          { id: 'bob', sha256: sha256(USER_KEY), groups: ['users'] },
        ],
      },
      operators: { groups: ['ops'] },
      access: [
        { who: { groups: ['ops'] }, allow: ['*'] },
        { who: { groups: ['users'] }, allow: ['tool:tickets.create'] },
      ],
      views: { slim: { include: ['tickets.*'], exclude: ['tickets.slow'], naming: 'strict' } },
      upstreams: {
        tickets: tickets.config,
        hostile: hostile.config,
        down: { url: `http://127.0.0.1:${await refusingPort()}/mcp`, optional: true },
      },
    }),
  );
  return { gateway, tickets, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
